"""Texts as they are, byte for byte, for a browser to show and never to interpret."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path, register_converter

from review.reviews.texts import ReviewPart, snapshot_text, text_of_review


class _PartConverter:
    """One of the texts of a review."""

    regex = "|".join(ReviewPart)

    def to_python(self, value: str) -> ReviewPart:
        """The part."""
        return ReviewPart(value)

    def to_url(self, value: ReviewPart) -> str:
        """Its word."""
        return str(value)


register_converter(_PartConverter, "part")


def raw(text: str) -> HttpResponse:
    """The bytes of a text, as plain text and nothing else."""
    # `nosniff` comes with every answer; without it a browser might take these bytes for a page.
    data = text.encode("utf-8", "surrogatepass")
    return HttpResponse(data, content_type="text/plain; charset=utf-8")


def review_text(request: HttpRequest, pair_id: int, part: ReviewPart) -> HttpResponse:
    """What a review said, or exactly the note or gate that it judged."""
    return raw(text_of_review(pair_id, part).text)


def snapshot(request: HttpRequest, snapshot_id: int) -> HttpResponse:
    """The text of a note or gate as it was kept."""
    return raw(snapshot_text(snapshot_id).text)


urlpatterns = [
    path("reviews/<int:pair_id>/<part:part>.txt", review_text, name="review-text"),
    path("texts/<int:snapshot_id>", snapshot, name="snapshot"),
]
