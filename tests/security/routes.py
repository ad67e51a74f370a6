"""Every address of the site, with values that could do harm in the places of its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver

_NUMBERS = ("1", "0", "9223372036854775808", "9" * 400)
_TEXTS = (
    "a.md", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "%00", "%0d%0aX-Evil:%201", "%ff%fe",
    "kb/notes/a.md", "prose/x", "a" * 5000, "%F0%9F%92%A9", "%E2%80%AE", "//evil.example", "prompt.md",
)  # fmt: skip
_PARAMETER = re.compile(r"<(?:(\w+):)?\w+>|\(\?P<\w+>[^)]*\)")


def routes() -> list[str]:
    """The patterns of all addresses, as Django writes them."""
    return sorted(set(_walk(get_resolver().url_patterns, "")))


def addresses(route: str) -> list[str]:
    """Addresses of a route; one without parameters has one."""
    kinds = [found[1] or "str" for found in _PARAMETER.finditer(route)]
    count = max([1, *(len(_values(kind)) for kind in kinds)])
    return ["/" + _filled(route, number) for number in range(count)]


def _filled(route: str, number: int) -> str:
    plain = route.replace("^", "").removesuffix("$")

    def value(found: re.Match[str]) -> str:
        values = _values(found[1] or "str")
        return values[number % len(values)]

    return _PARAMETER.sub(value, plain)


def _values(kind: str) -> tuple[str, ...]:
    return _NUMBERS if kind == "int" else _TEXTS


def _walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        else:
            yield route
