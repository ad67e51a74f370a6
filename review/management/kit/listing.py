"""The options of a command that lists: how much is given, from where, or counts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from django.core.management.base import CommandParser

from review.documents.paging import Key, Page
from review.management.kit.options import positive_int, text

T = TypeVar("T")
_SHOWN = 12


def add_listing_options(parser: CommandParser, *, limit: bool = True) -> None:
    """Declare `--limit`, `--after` and `--summary`; `limit=False` where the command has its own."""
    if limit:
        parser.add_argument("--limit", type=positive_int, metavar="N", help="at most N entries")
    parser.add_argument(
        "--after",
        type=text,
        metavar="CURSOR",
        help="the entries behind this one: `next` of an earlier answer",
    )
    parser.add_argument("--summary", action="store_true", help="counts in the place of entries")


def page_of(items: Iterable[T], options: Mapping[str, Any], *, key: Callable[[T], Key]) -> Page[T]:
    """The part of a sorted listing that the options ask for; nothing where they want counts."""
    wanted = () if options["summary"] else items
    return Page(wanted, key=key, after=options["after"], limit=options["limit"])


def summary_lines(summary: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """One line for each kind of count, the most frequent first, of a readable length."""
    for name, counts in summary.items():
        shown = ", ".join(f"{word} {number}" for word, number in islice(counts.items(), _SHOWN))
        more = len(counts) - _SHOWN
        yield f"by {name}: {shown or 'none'}{f', and {more} more' if more > 0 else ''}"


def next_line(cursor: str | None) -> list[str]:
    """Say how to go on, where there is more."""
    return [f"more: --after '{cursor}'"] if cursor else []
