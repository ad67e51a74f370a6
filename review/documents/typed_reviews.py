"""Reviews as data, as callers hand them in; nothing here loads Django."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

_Text = Annotated[str, Meta(max_length=20_000)]


class ReportedJson(Struct, forbid_unknown_fields=True):
    """A finding; `quote` are words of the note."""

    severity: Literal["info", "warn", "fail"]
    text: Annotated[_Text, Meta(min_length=1)]
    quote: Annotated[
        _Text, Meta(description="words of the note, copied exactly; a line for each place")
    ] = ""


class ReviewBlockJson(Struct, forbid_unknown_fields=True):
    """The review of one pair of a job, by the pair's number in its prompt."""

    ordinal: Annotated[int, Meta(ge=1, description="number of the pair in the prompt's list")]
    decision: Literal["pass", "warn", "fail", "error"]
    summary: _Text
    findings: Annotated[list[ReportedJson], Meta(max_length=1000)] = []
    revision: Annotated[_Text, Meta(description="the smallest change that mends it")] = ""
