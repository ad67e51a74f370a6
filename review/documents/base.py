"""Encodes structs as JSON and decodes input; problems, reviews as data, and parts of lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from review.domain.problems import Problem
from review.errors import InputRejected

_T = TypeVar("_T")
_K = TypeVar("_K")
Problems = Sequence[Problem]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_CUT_OFF = "Input data was truncated"


class NotThisDocument(InputRejected):
    """The input is not the expected JSON document."""


class Document(msgspec.Struct, kw_only=True):
    """A JSON object with its keys in the order of the fields."""


class ListJson(Document, kw_only=True):
    """A list, or counts of it in `summary`; `next` is the cursor of the part behind this one.

    On a page it is the address of that part, and absent at the end.
    """

    next: str | msgspec.UnsetType | None = None
    summary: dict[str, dict[str, int]] = {}


class SaidJson(Document, kw_only=True):
    """What somebody decided, and why."""

    actor: str
    reason: str
    at: str | None


class AcceptedJson(SaidJson, kw_only=True):
    """An acceptance; `review_pair_id` is null for an override."""

    gate_id: str
    model_partition: str
    kind: str
    review_pair_id: int | None


def encode(document: msgspec.Struct) -> str:
    """One line of JSON, UTF-8 as it is, without a newline."""
    return msgspec.json.encode(document).decode("utf-8", "surrogatepass")


def decode(data: bytes, kind: type[_T], *, source: str) -> _T:
    """Read `data`, which came from `source`, or raise NotThisDocument with the faulty place."""
    if not data.strip():
        raise NotThisDocument(f"{source}: empty; expected a JSON document")
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=kind)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotThisDocument(f"{source}: {_told(error, data)}") from error
    except RecursionError as error:
        raise NotThisDocument(f"{source}: nested too deeply to be read") from error


def _told(error: Exception, data: bytes) -> str:
    if str(error) != _CUT_OFF:  # every other message says where
        return str(error)
    line = data.rstrip().count(b"\n") + 1
    return f"it ends in the middle of a value, in line {line} (byte {len(data):,})"


def from_row(kind: type[_Struct], row: object, **more: Any) -> _Struct:
    """Make a document of attributes of `row`, and of `more` that it lacks.

    Moments become text, and an empty text null where the field can be null.
    """
    names = [name for name in kind.__struct_fields__ if name not in more and hasattr(row, name)]
    found = {name: getattr(row, name) for name in names}
    told = {name: timestamp(v) if isinstance(v, datetime) else v for name, v in found.items()}
    told |= dict.fromkeys(name for name in _nullable(kind) if told.get(name) == "")
    return kind(**told, **more)


@cache
def _nullable(kind: type[msgspec.Struct]) -> list[str]:
    fields = msgspec.structs.fields(kind)
    return [field.name for field in fields if type(None) in get_args(field.type)]


def timestamp(moment: datetime | None) -> str | None:
    """`2026-01-31T09:30:00.123456Z`, or None."""
    if moment is None:
        return None
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return f"{moment.isoformat(timespec='microseconds')[:-6]}Z"


_Text = Annotated[str, Meta(max_length=20_000)]


class ReportedJson(msgspec.Struct, forbid_unknown_fields=True):
    """A finding; `quote` are words of the note."""

    severity: Literal["info", "warn", "fail"]
    text: Annotated[_Text, Meta(min_length=1)]
    quote: Annotated[
        _Text, Meta(description="words of the note, copied exactly; a line for each place")
    ] = ""


class ReviewBlockJson(msgspec.Struct, forbid_unknown_fields=True):
    """The review of one pair of a job, by the pair's number in its prompt."""

    ordinal: Annotated[int, Meta(ge=1, description="number of the pair in the prompt's list")]
    decision: Literal["pass", "warn", "fail", "error"]
    summary: _Text
    findings: Annotated[list[ReportedJson], Meta(max_length=1000)] = []
    revision: Annotated[_Text, Meta(description="the smallest change that mends it")] = ""


def no_note_found(places: Iterable[str]) -> str:
    return (
        f"no note was found below {', '.join(places)}: put Markdown files there, or name other"
        ' folders in kb/review.toml ([notes] roots; "." is the repository itself)'
    )


def no_gate_found(folder: str) -> str:
    return f"no gate was found below {folder}: commonplace review_init adds the starter gates"


Key = tuple[str | int, ...]
Counts = dict[str, dict[str, int]]
_BETWEEN = "::"


def cursor_of(key: Key) -> str:
    return _BETWEEN.join(map(str, key))


def key_of(cursor: str) -> Key:
    return tuple(int(part) if part.isdecimal() else part for part in cursor.split(_BETWEEN))


def count_by(items: Iterable[object], **words: str) -> Counts:
    """Count the items by what each has in an attribute, most frequent first."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in words}
    for item in items:
        for name, attribute in words.items():
            counts[name][getattr(item, attribute)] += 1
    return {name: dict(found.most_common()) for name, found in counts.items()}


def grouped(pairs: Iterable[tuple[_K, _T]]) -> dict[_K, list[_T]]:
    """Return the values of each key, in their order."""
    found: dict[_K, list[_T]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
