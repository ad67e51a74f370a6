"""The index file cut, flipped, forbidden, turned into something else, or with no room to be written."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from review.knowledge_base.index import FileIndex
from tests.unit.knowledge_base.builders import later, make_config, make_corpus, write

NOTES = {f"kb/notes/{number}.md": f"---\nstatus: s{number}\n---\nNote\n" for number in range(3)}


def answers(root: Path, **changes: object) -> object:
    with make_corpus(root, **changes) as corpus:
        return corpus.notes()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in NOTES.items():
        write(tmp_path, path, text)
    answers(tmp_path)
    return tmp_path


@pytest.fixture
def index(root: Path) -> Path:
    return make_config(root).index_path


class TestBytes:
    def test_cut_at_every_length_are_no_index(self, root, index):
        whole = index.read_bytes()
        rows = FileIndex(index, root=str(root), clock_ns=later).notes
        assert set(rows) == set(NOTES)

        for length in range(len(whole)):
            index.write_bytes(whole[:length])
            assert FileIndex(index, root=str(root), clock_ns=later).notes == {}, length

    def test_with_any_one_bit_flipped_are_no_index(self, root, index):
        whole = index.read_bytes()

        for position in range(len(whole)):
            data = bytearray(whole)
            data[position] ^= 1 << position % 8
            index.write_bytes(data)
            assert FileIndex(index, root=str(root), clock_ns=later).notes == {}, position

    @pytest.mark.parametrize("extra", [b"\0", b"more", bytes(4096)])
    def test_with_more_at_the_end_are_no_index(self, root, index, extra):
        index.write_bytes(index.read_bytes() + extra)

        assert FileIndex(index, root=str(root), clock_ns=later).notes == {}

    def test_of_a_huge_file_with_holes_are_not_read(self, root, index):
        truth = answers(root, use_cache=False)
        os.truncate(index, 10 << 30)

        assert answers(root) == truth
        assert index.stat().st_size < 10_000


class TestWhatIsThere:
    @pytest.mark.parametrize("mode", [0o000, 0o200, 0o444])
    def test_may_be_forbidden(self, root, index, mode, monkeypatch):
        truth = answers(root, use_cache=False)
        index.chmod(mode)
        real = os.open

        def as_somebody_else(path, flags, *args, **kwargs):
            if path == index and not mode & stat.S_IROTH:
                raise PermissionError(13, "Permission denied")
            return real(path, flags, *args, **kwargs)

        monkeypatch.setattr(os, "open", as_somebody_else)

        assert answers(root) == truth

    def test_may_be_a_link_to_what_is_not_ours(self, root, index, tmp_path):
        truth = answers(root, use_cache=False)
        other = tmp_path / "precious"
        other.write_bytes(b"not an index")
        index.unlink()
        index.symlink_to(other)

        assert answers(root) == truth
        assert other.read_bytes() == b"not an index"

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/tty"])
    def test_may_be_a_link_to_a_device(self, root, index, device):
        truth = answers(root, use_cache=False)
        index.unlink()
        index.symlink_to(device)

        assert answers(root) == truth

    def test_may_be_deleted_between_load_and_save(self, root, index):
        corpus = make_corpus(root)
        corpus.notes()
        write(root, "kb/notes/new.md")
        index.unlink()

        corpus.notes()
        corpus.save()

        assert index.is_file()


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file of this process may grow: what a full disk or a quota says, at the write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class TestRoom:
    def test_that_ends_leaves_the_old_index_and_no_draft(self, root, index, request):
        write(root, "kb/notes/new.md")
        before = index.read_bytes()
        truth = answers(root, use_cache=False)
        request.getfixturevalue("small_files")

        assert answers(root) == truth

        assert index.read_bytes() == before
        assert [path.name for path in index.parent.iterdir()] == [index.name]
