"""The addresses of all pages."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path
from django.views.generic import RedirectView

from review.web.core import responses
from review.web.pages import jobs, matrix, notes, queue, reviews, search, start

urlpatterns = [
    path("", start.start, name="start"),
    path("costs/", start.costs, name="costs"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/request-missing", jobs.request_missing, name="request-all-missing"),
    path("jobs/<int:job_id>", jobs.job, name="job"),
    path("jobs/<int:job_id>/request-missing", jobs.request_missing, name="request-missing"),
    path("jobs/<int:job_id>/<str:name>", jobs.job_file, name="job-file"),
    path("events/", start.events, name="events"),
    path("looks/", reviews.looks, name="looks"),
    path("looks/request", reviews.request_again, name="request-again"),
    path("reviews/<int:pair_id>/", reviews.review, name="review"),
    path("reviews/<int:pair_id>/decision", reviews.decide, name="decide"),
    path("reviews/<int:pair_id>/<str:part>.txt", reviews.review_text, name="review-text"),
    path("texts/<int:snapshot_id>", reviews.snapshot, name="snapshot"),
    path("ack/", reviews.ack, name="ack"),
    path("override/", reviews.override, name="override"),
    path("request-review/", reviews.request_review, name="request-review"),
    path("diff/<path:note_path>", reviews.diff, name="diff"),
    path("notes/", notes.notes, name="notes"),
    path("notes/<path:note_path>", notes.note, name="note"),
    path("matrix/", matrix.matrix, name="matrix"),
    path("matrix/request", matrix.request_cells, name="request-cells"),
    path("gates/", notes.gates, name="gates"),
    path("gates/<path:gate_id>/", RedirectView.as_view(pattern_name="gate", permanent=True)),
    path("gates/<path:gate_id>", notes.gate, name="gate"),
    path("search", search.search, name="search"),
    path("queue/", queue.queue, name="queue"),
    path("findings/<slug:fingerprint>/", queue.finding, name="finding"),
    path("findings/<slug:fingerprint>/decision", queue.decide, name="finding-decide"),
    path("queue/dispose", queue.dispose, name="queue-dispose"),
    path("queue/all", queue.all_matching, name="queue-all"),
    path("queue/undo", queue.take_back, name="queue-undo"),
    path(
        "login/",
        LoginView.as_view(template_name="review/login.html", redirect_authenticated_user=True),
        name="login",
    ),
    path("logout/", login_not_required(LogoutView.as_view(next_page="login")), name="logout"),
    path("enter/<int:user_id>/<str:token>/", responses.enter, name="enter"),
    path("preferences/", responses.prefer, name="preferences"),
]
