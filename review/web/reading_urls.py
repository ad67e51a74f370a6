"""The addresses of the pages for reviews, notes, diffs, the matrix and gates."""

from __future__ import annotations

from django.urls import URLPattern

from review.web import diffs, gates, matrix, notes, picking, reviews, search, texts

urlpatterns: list[URLPattern] = [
    *reviews.urlpatterns,
    *texts.urlpatterns,
    *picking.urlpatterns,
    *diffs.urlpatterns,
    *notes.urlpatterns,
    *matrix.urlpatterns,
    *gates.urlpatterns,
    *search.urlpatterns,
]
