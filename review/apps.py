"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """The review system; integer keys everywhere, and no dependency on the auth apps."""

    name = "review"
    default_auto_field = "django.db.models.BigAutoField"
