"""Filters of a page: read from its address, refused when unknown, and written into its links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest

from review.errors import UsageRefused

AFTER = "after"
# Every database can hold a number of so many digits.
_MAX_DIGITS = 18
# Understood by every page: where a page of a list starts, and which twin is wanted.
_ALWAYS = (AFTER, "format")

Value = str | int | Iterable[str] | None


class UnknownFilter(UsageRefused):
    """The address asks for a filter, or a value of one, that the page does not have."""

    code = "unknown-filter"


@dataclass(frozen=True)
class Filters:
    """What the address asks for; a key may stand more than once.

    :param path: the page's own path, for links to itself.
    """

    path: str
    values: Mapping[str, tuple[str, ...]]

    def all(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, ())

    def accepts(self, **values: str) -> bool:
        """Return whether each value is among those of its filter, or the filter is not set."""
        return all(value in self.values.get(name, (value,)) for name, value in values.items())

    def one(self, name: str, default: str = "") -> str:
        return self.all(name)[-1] if self.all(name) else default

    def key(self, name: str) -> int | None:
        """The key of a row that a filter names; None where it is not set.

        :raises UnknownFilter: it is no key.
        """
        written = self.one(name)
        number = read_number(written)
        if written and number is None:
            raise UnknownFilter(
                f"filter {name!r} has no value {written!r}", hint="it takes a number"
            )
        return number

    @property
    def after(self) -> str:
        return self.one(AFTER)

    @property
    def narrowed(self) -> bool:
        return any(name not in _ALWAYS for name in self.values)

    @property
    def fields(self) -> list[tuple[str, str]]:
        kept = ((name, self.values[name]) for name in self.values if name not in _ALWAYS)
        return [(name, value) for name, values in kept for value in values]

    @property
    def query(self) -> str:
        return urlencode(self.fields)

    def url(self, **changes: Value) -> str:
        """The page with filters set (or, with None or "", dropped), from the list's start."""
        values: dict[str, tuple[str, ...]] = {
            name: found for name, found in self.values.items() if name not in _ALWAYS
        }
        for name, value in changes.items():
            values[name] = _texts(value)
        query = urlencode([(name, text) for name, texts in values.items() for text in texts])
        return f"{self.path}?{query}" if query else self.path

    def toggled(self, name: str, value: str) -> str:
        """The page with one value of a filter added, or taken out where it is set."""
        before = self.all(name)
        after = tuple(other for other in before if other != value)
        return self.url(**{name: after if value in before else (*before, value)})


def parse_filters(
    request: HttpRequest, known: Mapping[str, Collection[str] | None], *, path: str = ""
) -> Filters:
    """What the address asks for, checked.

    :param known: the page's filters; each with the words it takes, or None for any text.
    :param path: for links, where it is not the request's own.
    :raises UnknownFilter: a key or a value that the page does not know; names the known ones.
    """
    values: dict[str, tuple[str, ...]] = {}
    for name, given in request.GET.lists():
        if name not in known and name not in _ALWAYS:
            raise UnknownFilter(
                f"this page has no filter {name!r}", hint=f"it has: {_listed([*known, *_ALWAYS])}"
            )
        texts = tuple(str(text) for text in given if text != "")
        _check_words(name, texts, known.get(name))
        if texts:
            values[name] = tuple(dict.fromkeys(texts))
    return Filters(path or request.path, values)


def read_number(written: str) -> int | None:
    """The whole number, 0 or above; None for anything else, and for one larger than any key."""
    fits = written.isascii() and written.isdigit() and len(written) <= _MAX_DIGITS
    return int(written) if fits else None


def _check_words(name: str, texts: Iterable[str], words: Collection[str] | None) -> None:
    for text in texts:
        if "\0" in text:
            raise UnknownFilter(f"filter {name!r} holds a NUL character")
        if words is not None and text not in words:
            raise UnknownFilter(
                f"filter {name!r} has no value {text!r}", hint=f"it takes: {_listed(words)}"
            )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))


def _texts(value: Value) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    if isinstance(value, str | int):
        return (str(value),)
    return tuple(value)
