"""How structs become JSON and how input becomes structs, with errors that say where."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from review.errors import InputRejected

_T = TypeVar("_T")
_CUT_OFF = "Input data was truncated"


class NotThisDocument(InputRejected):
    """The input is not the JSON document that was asked for."""


class Document(msgspec.Struct, kw_only=True):
    """A JSON object whose keys stand in the order of its fields."""


def encode(document: msgspec.Struct) -> str:
    """One line of JSON, UTF-8 as it is, without a newline."""
    return msgspec.json.encode(document).decode("utf-8", "surrogatepass")


def decode(data: bytes, kind: type[_T], *, source: str) -> _T:
    """Read `data` as `kind`.

    :param source: where `data` came from, for the message.
    :raises NotThisDocument: it is not JSON, or not of that shape; says where in the document.
    """
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


def timestamp(moment: datetime | None) -> str | None:
    """`2026-01-31T09:30:00.123456Z`, or None."""
    if moment is None:
        return None
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return f"{moment.isoformat(timespec='microseconds')[:-6]}Z"
