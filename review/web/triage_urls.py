"""The addresses of the pages for the queue and findings."""

from __future__ import annotations

from django.urls import URLPattern

from review.web import findings, queue, triage

urlpatterns: list[URLPattern] = [
    *queue.urlpatterns,
    *triage.urlpatterns,
    *findings.urlpatterns,
]
