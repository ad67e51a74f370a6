"""Filters of a page: read from its address, refused when unknown, and written into its links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar, cast
from urllib.parse import urlencode

import msgspec
from django.http import HttpRequest
from msgspec import Meta

from review.errors import UsageRefused

AFTER = "after"
# Every database can hold a number of so many digits.
_MAX_DIGITS = 18
_MAX_INT = (1 << 63) - 1
# What a part of a place may be: no database takes a larger number, or a NUL character.
_PARTS = {
    int: Annotated[int, Meta(ge=-_MAX_INT, le=_MAX_INT)],
    str: Annotated[str, Meta(pattern="^[^\\0]*$")],
}
# Understood by every page: where a page of a list starts, and which twin is wanted.
_ALWAYS = (AFTER, "format")
# Options of a facet; more are folded away.
_SHOWN, _SHOWN_OF_SINGLE = 8, 12

T = TypeVar("T")
Key = tuple[str | int, ...]


class UnknownFilter(UsageRefused):
    """The address asks for a filter, or a value of one, that the page does not have."""


@dataclass(frozen=True)
class Paged(Generic[T]):
    """One page of a list; the URLs are empty where there is nothing to go to."""

    items: tuple[T, ...]
    next_url: str
    first_url: str

    @property
    def next_document(self) -> str | None:
        """The next page as a document, for the document of this one; None on the last page."""
        return f"{self.next_url}&format=json" if self.next_url else None


@dataclass(frozen=True)
class FacetOption:
    """One value; `url` sets it, or takes it out where it is set."""

    value: str
    label: str
    count: int | None
    selected: bool
    url: str


@dataclass(frozen=True)
class Facet:
    """One filter; `more` are the options beyond the first few, folded away."""

    name: str
    title: str
    options: Sequence[FacetOption]
    more: Sequence[FacetOption]
    clear_url: str

    @property
    def selected(self) -> bool:
        return any(option.selected for option in self.options)


@dataclass(frozen=True)
class Filters:
    """The filters of an address, for links to `path`; a key may occur more than once."""

    path: str
    values: Mapping[str, tuple[str, ...]]

    def all(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, ())

    def accepts(self, **values: str) -> bool:
        """Return whether each value is among those of its filter, or the filter is not set."""
        return all(value in self.values.get(name, (value,)) for name, value in values.items())

    def one(self, name: str, default: str = "") -> str:
        return self.values.get(name, (default,))[-1]

    def key(self, name: str) -> int | None:
        """The key of a row that a filter names; None where it is not set."""
        written = self.one(name)
        number = read_number(written)
        if written and number is None:
            message = f"filter {name!r} has no value {written!r}"
            raise UnknownFilter(message, hint="it takes a number")
        return number

    @cached_property
    def narrowed(self) -> dict[str, Any]:
        """The page's own filters that are set."""
        return {name: texts for name, texts in self.values.items() if name not in _ALWAYS}

    @property
    def fields(self) -> list[tuple[str, str]]:
        return [(name, text) for name, texts in self.narrowed.items() for text in texts]

    @property
    def query(self) -> str:
        return urlencode(self.fields)

    def url(self, **changes: str | Sequence[str] | None) -> str:
        """The page with filters set (or, with None or "", dropped), from the list's start."""
        values = self.narrowed | changes
        query = urlencode({name: value for name, value in values.items() if value}, doseq=True)
        return f"{self.path}?{query}" if query else self.path

    def toggled(self, name: str, value: str) -> str:
        """The page with one value of a filter added, or taken out where it is set."""
        before = self.all(name)
        after = tuple(other for other in before if other != value)
        return self.url(**{name: after if value in before else (*before, value)})

    def place(self, *kinds: type[str] | type[int]) -> Key | None:
        """The key, of parts of these kinds, after which the page starts, or None."""
        if AFTER not in self.values:
            return None
        parts: Any = tuple.__class_getitem__(tuple(_PARTS[kind] for kind in kinds))
        with suppress(msgspec.DecodeError):
            return cast(Key, msgspec.json.decode(self.one(AFTER), type=parts))
        raise UsageRefused(
            f"{AFTER!r} holds no place in this list", "bad-place", hint="start at the first page"
        )

    def page(self, items: Iterable[T] = (), *, following: Key | None) -> Paged[T]:
        """A page that the next one follows after a key; None on the last page."""
        return Paged(
            items=tuple(items),
            next_url=self.url(**{AFTER: write_place(following)}) if following else "",
            first_url=self.url() if AFTER in self.values else "",
        )

    def cut(self, rows: Sequence[T], size: int, key: Callable[[T], Key]) -> Paged[T]:
        """Cut a page from rows that start after the place and hold one more than `size`, if there is."""
        return self.page(rows[:size], following=key(rows[size - 1]) if len(rows) > size else None)

    def facet(
        self,
        name: str,
        title: str,
        counts: Mapping[str, int | None],
        *,
        labels: Callable[[str], str] = str,
        single: bool = False,
    ) -> Facet:
        """The facet of filter `name`, in the order of `counts`, with values that are set.

        :param single: a value that is chosen replaces the one that is set.
        """
        chosen = self.all(name)
        missing = {value: 0 for value in chosen if value not in counts}
        options = []
        for value, count in {**counts, **missing}.items():
            is_set = value in chosen
            url = self.url(**{name: value}) if single and not is_set else self.toggled(name, value)
            options.append(FacetOption(value, labels(value), count, is_set, url))
        shown = _SHOWN_OF_SINGLE if single else _SHOWN
        end = shown if len(options) > shown + 1 else len(options)
        first = [*options[:end], *(option for option in options[end:] if option.selected)]
        more = [option for option in options[end:] if not option.selected]
        return Facet(name, title, first, more, clear_url=self.url(**{name: None}))


def parse_filters(
    request: HttpRequest, known: Mapping[str, Collection[str] | None], *, path: str = ""
) -> Filters:
    """Parse the filters of the address.

    :param known: the page's filters; each with the words it takes, or None for any text.
    """
    values: dict[str, tuple[str, ...]] = {}
    for name, given in request.GET.lists():
        if name not in known and name not in _ALWAYS:
            hint = f"it has: {', '.join(sorted([*known, *_ALWAYS]))}"
            raise UnknownFilter(f"this page has no filter {name!r}", hint=hint)
        words, texts = known.get(name), tuple(dict.fromkeys(filter(None, given)))
        for text in texts:
            if "\0" in text:
                raise UnknownFilter(f"filter {name!r} holds a NUL character")
            if words is not None and text not in words:
                hint = f"it takes: {', '.join(sorted(words))}"
                raise UnknownFilter(f"filter {name!r} has no value {text!r}", hint=hint)
        values |= {name: texts} if texts else {}
    return Filters(path or request.path, values)


def read_number(written: str) -> int | None:
    """The whole number, 0 or above; None for anything else, and for one larger than any key."""
    fits = written.isascii() and written.isdigit() and len(written) <= _MAX_DIGITS
    return int(written) if fits else None


def write_place(key: Key) -> str:
    return msgspec.json.encode(key).decode()
