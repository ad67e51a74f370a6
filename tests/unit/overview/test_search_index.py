"""The index of words is a cache: whatever becomes of its file, what it says is right or said to lack."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from review.overview.search import Entry, open_index
from tests.helpers.refusals import refuses

STORE = "5" * 32
REPOSITORY = Path(__file__).parents[3]


def note(name: str, body: str, digest: str = "") -> Entry:
    return Entry("note", name, name, body, digest)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "reports" / "store.words"


def opened(path, store_id=STORE):
    return open_index(path, store_id=store_id)


class TestFinding:
    @pytest.fixture
    def index(self, path):
        with opened(path) as index:
            index.add(
                [
                    note("a.md", "The claim has no source. Café."),
                    note("b.md", "A source of many claims."),
                    note("claim.md", "Nothing."),
                    Entry("review", "7", "a.md", "the claim is fine"),
                ]
            )
            yield index

    @pytest.mark.parametrize(
        ("words", "names"),
        [
            pytest.param(["source"], ["b.md", "a.md"], id="word"),
            pytest.param(["SOURCE", "claim"], ["a.md", "b.md"], id="all-of-them"),
            pytest.param(["no source"], ["a.md"], id="phrase"),
            pytest.param(["source no"], [], id="order-of-a-phrase"),
            pytest.param(["clai"], ["claim.md", "a.md", "b.md"], id="begun-word-and-title-first"),
            pytest.param(["sourc", "many"], [], id="only-the-last-may-be-begun"),
            pytest.param(["cafe"], ["a.md"], id="without-accents"),
            pytest.param(["OR"], [], id="no-operator"),
            pytest.param(["body:claim"], [], id="no-column"),
            pytest.param(['claim" OR "x'], [], id="no-way-out-of-the-quotes"),
        ],
    )
    def test_finds(self, index, words, names):
        assert sorted(index.find(words, kind="note", limit=9)) == sorted(names)

    def test_titles_come_first(self, index):
        assert index.find(["claim"], kind="note", limit=1) == ["claim.md"]

    def test_counts_all_and_gives_them_a_page_at_a_time(self, index):
        names = [
            name
            for offset in range(3)
            for name in index.find(["claim"], kind="note", limit=1, offset=offset)
        ]

        assert names == index.find(["claim"], kind="note", limit=9)
        assert index.count(["claim"], kind="note") == 3

    def test_kinds_are_apart(self, index):
        assert index.find(["claim"], kind="review", limit=9) == ["7"]

    def test_a_text_that_changed_is_found_by_its_new_words_only(self, index):
        index.add([note("a.md", "Something else.", "2")])

        assert index.find(["claim"], kind="note", limit=9) == ["claim.md", "b.md"]
        assert index.find(["something"], kind="note", limit=9) == ["a.md"]
        assert index.digests("note")["a.md"] == "2"

    def test_what_is_forgotten_is_not_found(self, index):
        index.forget("note", ["a.md", "claim.md"])

        assert index.find(["claim"], kind="note", limit=9) == ["b.md"]


class TestFile:
    def test_is_kept(self, path):
        with opened(path) as index:
            index.add([note("a.md", "words")], last_event=7)

        with opened(path) as index:
            assert index.find(["words"], kind="note", limit=9) == ["a.md"]
            assert index.last_event() == 7

    def test_of_another_store_is_made_anew(self, path):
        with opened(path) as index:
            index.add([note("a.md", "words")], last_event=7)

        with opened(path, store_id="6" * 32) as index:
            assert index.find(["words"], kind="note", limit=9) == []
            assert index.last_event() == 0

    @pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
    def test_that_is_corrupt_is_made_anew(self, path, content):
        path.parent.mkdir()
        path.write_bytes(content)

        with refuses("search-busy"), opened(path):
            pass

        with opened(path) as index:
            index.add([note("a.md", "words")])
            assert index.find(["words"], kind="note", limit=9) == ["a.md"]

    def test_a_batch_is_added_whole_or_not(self, path):
        def entries():
            yield note("a.md", "words")
            raise RuntimeError

        with opened(path) as index:
            with pytest.raises(RuntimeError):
                index.add(entries(), last_event=1)
            assert index.find(["words"], kind="note", limit=9) == []
            assert index.last_event() == 0

    def test_can_be_read_while_another_adds(self, path):
        with opened(path) as index:
            index.add([note("a.md", "words")])
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")

            assert index.find(["words"], kind="note", limit=9) == ["a.md"]

            other.close()

    def test_one_that_stays_locked_is_a_refusal(self, path, monkeypatch):
        monkeypatch.setattr("review.overview.search._WAIT", 0.05)
        with opened(path):
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")

            with refuses("search-busy", match="locked"), opened(path) as second:
                second.add([note("a.md", "words")])

            other.close()

    def test_two_may_add_at_once(self, path):
        def add(number):
            with opened(path) as index:
                for part in range(10):
                    index.add([note(f"{number}-{part}.md", "words")])

        threads = [threading.Thread(target=add, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        with opened(path) as index:
            assert len(index.find(["words"], kind="note", limit=99)) == 30

    def test_that_is_locked_while_it_is_opened_is_no_ruin(self, path, monkeypatch):
        monkeypatch.setattr("review.overview.search._WAIT", 0.05)
        with opened(path) as index:
            index.add([note("a.md", "words")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")

        with refuses("search-busy", match="locked"), opened(path):
            pass

        other.close()
        with opened(path) as index:
            assert list(index.digests("note")) == ["a.md"]

    def test_that_is_found_ruined_in_use_is_made_anew(self, path):
        with opened(path) as index:
            index.add([note(f"{number}.md", "many words " * 400) for number in range(20)])
        content = bytearray(path.read_bytes())
        content[4096 * 3 :] = b"\xff" * len(content[4096 * 3 :])
        path.write_bytes(content)

        with refuses("search-busy"), opened(path) as index:
            index.add([note("a.md", "words")])

        with opened(path) as index:
            index.add([note("a.md", "words")])
            assert index.find(["words"], kind="note", limit=9) == ["a.md"]

    def test_the_first_users_at_once_make_one_file_and_lose_nothing(self, tmp_path):
        """Whoever came while another made it once removed it under the other."""
        code = (
            "import sys, django; django.setup();"
            "from tests.helpers.word_writers import write; write(*sys.argv[1:])"
        )
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(tmp_path), str(number)], cwd=REPOSITORY
            )
            for number in range(2)
        ]

        assert [writer.wait(timeout=100) for writer in writers] == [0, 0]

        for folder in sorted(tmp_path.iterdir()):
            with opened(folder / "words") as index:
                assert len(index.digests("note")) == 2 * 4 * 2
