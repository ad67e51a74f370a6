"""What a look at a few notes reads: the same in a small base and in a large one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from review.corpus import index as index_module
from review.corpus import index_file
from review.corpus.index import FileIndex
from tests.unit.corpus.builders import make_config, make_corpus, write

SMALL, LARGE = 60, 600
ONE, OTHER = "kb/notes/1/7.md", "kb/notes/1/4.md"


def make_base(root: Path, notes: int) -> Path:
    for number in range(notes):
        write(root, f"kb/notes/{number % 3}/{number}.md", f"---\nstatus: s{number}\n---\nNote\n")
    with make_corpus(root) as corpus:
        corpus.notes()
    return root


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("small"), SMALL)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("large"), LARGE)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of notes each read of the index gave."""
    real, found = FileIndex._read, []

    def counted(self, shards):
        read = real(self, shards)
        found.append(sum(map(len, read)))
        return read

    monkeypatch.setattr(FileIndex, "_read", counted)
    return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the Markdown files that were opened."""
    real, found = os.open, []

    def counted(path, *args, **kwargs):
        if str(path).endswith(".md"):
            found.append(str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", counted)
    return found


class TestOneNote:
    def test_is_remembered_without_the_rows_of_all_others(self, large, rows, opened):
        found = make_corpus(large).notes([ONE])

        assert [note.status for note in found.notes] == ["s7"]
        assert opened == []
        assert sum(rows) < LARGE / 4

    def test_that_changed_is_the_only_file_opened(self, tmp_path, rows, opened):
        root = make_base(tmp_path, LARGE)
        opened.clear()
        write(root, ONE, "---\nstatus: other\n---\nNote\n")

        found = make_corpus(root).notes([ONE])

        assert [note.status for note in found.notes] == ["other"]
        assert opened == ["7.md"]

    def test_that_changed_does_not_have_the_whole_index_written(self, tmp_path):
        root = make_base(tmp_path, LARGE)
        path = make_config(root).index_path
        before = path.stat().st_ino
        write(root, ONE, "---\nstatus: other\n---\nNote\n")

        with make_corpus(root) as corpus:
            corpus.notes([ONE])

        assert path.stat().st_ino == before

    def test_at_its_path_is_found_without_the_others(self, large, rows, opened):
        found = make_corpus(large).notes_at({ONE})

        assert [note.path for note in found.notes] == [ONE]
        assert opened == []
        assert sum(rows) < LARGE / 4

    def test_of_a_small_base_is_looked_up_among_all(self, small, rows):
        make_corpus(small).notes([ONE])

        assert sum(rows) == SMALL


class TestAllNotes:
    def test_are_remembered_over_all_shards(self, large, opened):
        found = make_corpus(large).notes()

        assert len(found.notes) == LARGE
        assert opened == []

    def test_are_forgotten_when_they_are_gone(self, tmp_path):
        root = make_base(tmp_path, LARGE)
        (root / ONE).unlink()

        with make_corpus(root) as corpus:
            corpus.notes([OTHER])
            corpus.notes()

        with make_corpus(root) as corpus:
            assert ONE not in corpus._index.notes

    def test_of_a_damaged_shard_are_read_again(self, tmp_path, opened):
        root = make_base(tmp_path, LARGE)
        opened.clear()
        path = make_config(root).index_path
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)

        found = make_corpus(root).notes()

        assert len(found.notes) == LARGE
        assert 0 < len(opened) < LARGE / 4


class TestReplacedFile:
    def test_between_head_and_shards_gives_no_row_of_another(self, tmp_path, opened):
        root = make_base(tmp_path, LARGE)
        corpus = make_corpus(root)
        assert corpus._index.kinds
        write(root, ONE, "---\nstatus: other\n---\nNote\n")
        with make_corpus(root) as writer:
            writer.notes()
        opened.clear()

        found = corpus.notes([ONE])

        assert [note.status for note in found.notes] == ["other"]

    def test_that_vanished_gives_no_row(self, tmp_path):
        root = make_base(tmp_path, LARGE)
        corpus = make_corpus(root)
        assert corpus._index.kinds
        make_config(root).index_path.unlink()

        assert len(corpus.notes().notes) == LARGE


class TestShards:
    @pytest.mark.parametrize(
        ("rows", "count"), [(0, 1), (63, 1), (128, 2), (10_000, 156), (10**6, 256)]
    )
    def test_are_as_many_as_are_worth_it(self, rows, count):
        assert index_file.shard_count(rows) == count

    def test_take_any_name(self):
        assert index_file.shard_of("kb/notes/\udcff.md", 8) in range(8)

    def test_have_a_layout_of_their_own(self):
        assert "/2." in index_module._STAMP
