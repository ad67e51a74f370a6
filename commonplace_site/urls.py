"""The addresses of the site: the pages, the admin, and what answers without a login."""

from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.cache import never_cache
from django.views.generic import RedirectView


@never_cache
@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the process answers; the store is not asked."""
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path(
        "favicon.ico",
        login_not_required(RedirectView.as_view(url=f"{settings.STATIC_URL}review/favicon.svg")),
    ),
    # One login for all pages: the admin's own would be a second place to guess passwords at.
    path(
        "admin/login/",
        login_not_required(RedirectView.as_view(pattern_name="login", query_string=True)),
    ),
    path("admin/", admin.site.urls),
    path("", include("review.web.urls")),
]

handler400 = "review.web.core.responses.bad_request"
handler403 = "review.web.core.responses.forbidden"
handler404 = "review.web.core.responses.not_found"
handler500 = "review.web.core.responses.failed"
