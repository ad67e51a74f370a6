"""The addresses of the pages for reviews, notes, diffs, the matrix and gates."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
