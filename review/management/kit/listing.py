"""The options of a command that selects and lists: a scope, a part of a list, or counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from review.documents.paging import Key, Listed, count_by
from review.management.kit.command import request_of
from review.selection.select import SelectionRequest
from review.vocabulary import REQUESTED, STALE

T = TypeVar("T")
_SHOWN = 12


def part_of(items: Iterable[T], options: Mapping[str, Any], key: Callable[[T], Key]) -> Listed[T]:
    """Return the page of a sorted listing that the options select; nothing if they want counts."""
    wanted = () if options["summary"] else items
    return Listed(wanted, key=key, after=options["after"], limit=options["limit"])


def cut(
    document: Any,
    name: str,
    options: Mapping[str, Any],
    key: Callable[[Any], Key],
    **words: Callable[[Any], str],
) -> None:
    """Reduce the document's list to what the options select."""
    items = getattr(document, name)
    part = part_of(items, options, key)
    document.summary = count_by(items, **words) if options["summary"] else {}
    setattr(document, name, list(part))
    document.next = part.next


def tail_lines(document: Any) -> Iterator[str]:
    """One line for each kind of count, the most frequent first; and how to go on."""
    for name, counts in document.summary.items():
        shown = ", ".join(f"{word} {number}" for word, number in islice(counts.items(), _SHOWN))
        more = len(counts) - _SHOWN
        yield f"by {name}: {shown or 'none'}{f', and {more} more' if more > 0 else ''}"
    if document.next:
        yield f"more: --after '{document.next}'"


def selection_request(options: dict[str, Any], **more: Any) -> SelectionRequest:
    """Return the options' selection, in the partition that `--model` names unless `more` does."""
    mode = REQUESTED if options.get("repeat") else options.get("mode", STALE)
    more = {"model_partition": options["model"], "mode": mode} | more
    return request_of(SelectionRequest, options, **more)
