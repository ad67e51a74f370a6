"""Numbers of addresses and forms are read, or are none; none of them is too large for a database."""

from __future__ import annotations

import pytest

from review.web.numbers import read_number


class TestReadNumber:
    @pytest.mark.parametrize(
        ("written", "number"),
        [
            pytest.param("0", 0, id="zero"),
            pytest.param("007", 7, id="leading-zeros"),
            pytest.param("9" * 18, 10**18 - 1, id="as-large-as-may-be"),
            pytest.param("9" * 19, None, id="larger-than-a-key"),
            pytest.param("9" * 5000, None, id="longer-than-python-reads"),
            pytest.param("-1", None, id="negative"),
            pytest.param("1.5", None, id="fraction"),
            pytest.param("²", None, id="a-digit-of-no-number"),
            pytest.param("٣", None, id="other-digits"),
            pytest.param("", None, id="nothing"),
        ],
    )
    def test_gives_the_number_or_none(self, written, number):
        assert read_number(written) == number
