"""Facets: the values a filter can take here, how often each occurs, and the link that sets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from review.web.core.filters import Filters

SHOWN = 8


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
    options: tuple[FacetOption, ...]
    more: tuple[FacetOption, ...]
    clear_url: str

    @property
    def selected(self) -> bool:
        return any(option.selected for option in (*self.options, *self.more))


def make_facet(
    filters: Filters,
    name: str,
    title: str,
    counts: Mapping[str, int | None],
    *,
    labels: Mapping[str, str] | None = None,
) -> Facet:
    """The facet of filter `name`, in the order of `counts`; values that are set come in any case.

    :param counts: value to how many; None where it is not counted.
    :param labels: value to what a person reads, where it differs.
    """
    chosen = filters.all(name)
    missing: dict[str, int | None] = {value: 0 for value in chosen if value not in counts}
    options = [
        FacetOption(
            value=value,
            label=(labels or {}).get(value, value),
            count=count,
            selected=value in chosen,
            url=filters.toggled(name, value),
        )
        for value, count in {**counts, **missing}.items()
    ]
    first = options[:SHOWN] if len(options) > SHOWN + 1 else options
    rest = options[len(first) :]
    return Facet(
        name=name,
        title=title,
        options=(*first, *(option for option in rest if option.selected)),
        more=tuple(option for option in rest if not option.selected),
        clear_url=filters.url(**{name: None}),
    )
