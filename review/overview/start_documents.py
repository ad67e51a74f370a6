"""`review-init/1`: what a repository got to start with."""

from __future__ import annotations

from review.documents.base import Document


class InitJson(Document, kw_only=True):
    """The answer of `review_init`; paths are relative to `into`.

    `kept` files were there and are not touched; of these, `differing` are not what the starter
    set holds now. `flavour` is the dialect of Markdown that the notes seem to be written in, `next`
    the command to type next.
    """

    schema: str = "review-init/1"
    into: str
    dry_run: bool
    created: list[str]
    kept: list[str]
    differing: list[str]
    next: str
    flavour: str
