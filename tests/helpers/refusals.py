"""Expects a refusal by its code."""

from __future__ import annotations

import pytest

from review.errors import ReviewError


def refuses(code: str, match: str | None = None) -> pytest.RaisesExc[ReviewError]:
    return pytest.raises(ReviewError, match=match, check=lambda error: error.code == code)
