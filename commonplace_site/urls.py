"""The addresses of the site."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.generic import RedirectView


@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the process answers; the store is not asked."""
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    path("healthz", healthz, name="healthz"),
    path("admin/", admin.site.urls),
]
