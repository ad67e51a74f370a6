"""`fix-prompt/1`: one prompt with all that is open about a note."""

from __future__ import annotations

from review.documents.base import Document


class FixPromptJson(Document, kw_only=True):
    """The answer of `fix_prompt`; `prompt` is null where it was written to `output`."""

    schema: str = "fix-prompt/1"
    note_path: str
    note_sha256: str
    fingerprints: list[str]
    output: str | None = None
    prompt: str | None
