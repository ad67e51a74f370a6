"""The addresses of the pages for the queue and findings."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
