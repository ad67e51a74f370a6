"""Filters in the address: read, refused, written into links; facets and places in a list."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from review.web.core.filters import (
    Filters,
    UnknownFilter,
    parse_filters,
    write_place,
)
from tests.helpers.refusals import refuses

KNOWN = {"status": ("open", "closed"), "folder": None}


def filters_of(query: str) -> Filters:
    return parse_filters(RequestFactory().get(f"/list/?{query}"), KNOWN)


class TestReading:
    def test_a_key_may_stand_more_than_once(self):
        assert filters_of("status=open&status=closed").all("status") == ("open", "closed")

    def test_the_last_value_counts_where_one_is_wanted(self):
        assert filters_of("folder=a&folder=b").one("folder") == "b"

    def test_an_empty_value_is_none(self):
        filters = filters_of("folder=&status=")

        assert (filters.all("folder"), filters.narrowed) == ((), {})

    def test_the_place_and_the_format_narrow_nothing(self):
        assert not filters_of("after=[1]&format=json").narrowed

    @pytest.mark.parametrize(
        ("query", "named"),
        [
            pytest.param("colour=red", "folder, format, status", id="key"),
            pytest.param("status=lost", "closed, open", id="value"),
        ],
    )
    def test_what_is_unknown_is_refused_with_what_is_known(self, query, named):
        with pytest.raises(UnknownFilter) as refused:
            filters_of(query)

        assert named in refused.value.hint

    def test_a_nul_is_no_text(self):
        with pytest.raises(UnknownFilter):
            filters_of("folder=a%00b")


class TestLinks:
    def test_start_the_list_over(self):
        assert filters_of("status=open&after=[1]").url(folder="x") == (
            "/list/?status=open&folder=x"
        )

    def test_drop_a_filter(self):
        assert filters_of("status=open").url(status=None) == "/list/"

    def test_take_a_value_out_that_is_set_and_add_one_that_is_not(self):
        filters = filters_of("status=open")

        assert filters.toggled("status", "open") == "/list/"
        assert filters.toggled("status", "closed") == "/list/?status=open&status=closed"

    def test_quote_what_would_be_something_else(self):
        assert filters_of("").url(folder="a&b=c#d e") == "/list/?folder=a%26b%3Dc%23d+e"


class TestFacets:
    def test_fold_away_all_but_the_first_few_and_those_that_are_set(self):
        counts = {str(number): number for number in range(20)}
        filters = parse_filters(RequestFactory().get("/list/?folder=15"), KNOWN)

        facet = filters.facet("folder", "Folder", counts)

        assert [option.value for option in facet.options] == [*map(str, range(8)), "15"]
        assert len(facet.more) == 11

    def test_keep_a_value_that_is_set_though_nothing_has_it(self):
        facet = filters_of("folder=gone").facet("folder", "Folder", {"here": 3})

        assert [(o.value, o.count, o.selected) for o in facet.options] == [
            ("here", 3, False),
            ("gone", 0, True),
        ]


class TestPlaces:
    @pytest.mark.parametrize("key", [(7,), ("kb/notes/ä b.md", 7), ('a"b',)])
    def test_are_read_as_they_were_written(self, key):
        filters = Filters("/list/", {"after": (write_place(key),)})

        assert filters.place(*map(type, key)) == key

    @pytest.mark.parametrize(
        "text",
        ["", "7", "[]", '["7"]', "[7,8]", "[true]", "[1e3]", "[9223372036854775808]", "[" * 9999],
    )
    def test_that_are_none_are_refused(self, text):
        filters = Filters("/list/", {"after": (text,)} if text else {})

        if not text:
            assert filters.place(int) is None
            return
        with refuses("bad-place"):
            filters.place(int)

    def test_a_full_page_leads_on_and_the_last_does_not(self):
        filters = Filters("/list/", {})

        first = filters.cut([3, 2, 1], 2, lambda row: (row,))
        last = filters.cut([1], 2, lambda row: (row,))

        assert (first.items, first.next_url) == ((3, 2), "/list/?after=%5B2%5D")
        assert (last.items, last.next_url) == ((1,), "")
