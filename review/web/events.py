"""The page of events: every move of every job, newest first."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
