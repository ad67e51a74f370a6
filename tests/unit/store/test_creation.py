"""What is done with the log of a lost store before a new one takes its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from review.store import creation
from review.store.refusals import StoreNotOpened


class TestLogOfALostStore:
    def test_is_put_aside_beside_an_earlier_one(self, tmp_path):
        file = tmp_path / "store.sqlite"
        for content in (b"first", b"second"):
            Path(f"{file}-wal").write_bytes(content)
            creation._clear_remains(file, alone=True)

        assert {left.read_bytes() for left in tmp_path.iterdir()} == {b"first", b"second"}

    def test_is_left_where_others_cannot_be_kept_away(self, tmp_path):
        log = tmp_path / "store.sqlite-wal"
        log.write_bytes(b"of whom?")

        with pytest.raises(StoreNotOpened, match=log.name):
            creation._clear_remains(tmp_path / "store.sqlite", alone=False)

        assert log.read_bytes() == b"of whom?"
