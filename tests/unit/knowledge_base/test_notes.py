"""Notes through the door: which are given, and that what is remembered never hides a change."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from review.domain.paths import sha256_hex
from review.knowledge_base import Corpus
from review.knowledge_base.index import FileIndex
from review.knowledge_base.notes import load_notes
from review.knowledge_base.reader import RACY_WINDOW_NS, FileContent, StatSignature, UnreadableFile
from review.knowledge_base.walker import FileEntry, ScanResult
from tests.unit.knowledge_base.builders import (
    later,
    link,
    make_config,
    make_corpus,
    problem_codes,
    write,
)

A = "kb/notes/a.md"


def hashes(root: Path, **changes: object) -> dict[str, str]:
    """Give the hash of every note, as a command that saves the index would."""
    with make_corpus(root, **changes) as corpus:
        return {note.path: note.sha256 for note in corpus.notes().notes}


def true_hashes(root: Path) -> dict[str, str]:
    """Give the hash of every note by reading all of them, by other means."""
    return {
        str(path.relative_to(root)): sha256_hex(path.read_bytes())
        for path in sorted((root / "kb/notes").rglob("*.md"))
    }


def index_state(root: Path) -> tuple[int, int]:
    status = make_config(root).index_path.stat()
    return status.st_ino, status.st_mtime_ns


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(3):
        write(tmp_path, f"kb/notes/{number}/n.md", f"---\nstatus: current\n---\nNote {number}\n")
    write(tmp_path, A, "one")
    hashes(tmp_path)
    return tmp_path


class TestRememberedNotes:
    def test_are_not_read_again(self, root):
        before = index_state(root)

        assert hashes(root) == true_hashes(root)
        assert index_state(root) == before

    def test_are_given_whole(self, tmp_path):
        write(tmp_path, A, "---\ntype: x\ntraits: [t]\nstatus: current\n---\nBody\n")
        write(tmp_path, "kb/notes/bad.md", "---\na: b: c\n---\nBody\n")
        write(tmp_path, "kb/notes/latin.md", b"\xff")
        with make_corpus(tmp_path) as corpus:
            first = corpus.notes()

        second = make_corpus(tmp_path).notes()

        assert second == first
        assert second == make_corpus(tmp_path, use_cache=False).notes()
        assert problem_codes(second.problems) == {
            "kb/notes/bad.md": "invalid-frontmatter",
            "kb/notes/latin.md": "not-utf8",
        }

    def test_share_equal_kinds(self, root):
        notes = make_corpus(root).notes().notes

        assert len({id(note.kind) for note in notes}) == len({note.kind for note in notes}) == 1

    def test_of_one_size_with_a_restored_mtime_are_read_again(self, root):
        target = root / A
        before = target.stat()
        target.write_text("two")
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))

        assert hashes(root)[A] == sha256_hex(b"two")

    def test_moved_into_place_with_older_times_are_read_again(self, root):
        older = write(root, "kb/a.new", "two")
        os.utime(older, ns=(1, 1))
        older.replace(root / A)

        assert hashes(root)[A] == sha256_hex(b"two")

    def test_survive_a_touch_of_everything(self, root):
        before = hashes(root)
        for path in (root / "kb/notes").rglob("*.md"):
            path.touch()

        assert hashes(root) == before

    def test_survive_being_saved_again_unchanged(self, root):
        before = hashes(root)
        (root / A).write_text("one")

        assert hashes(root) == before

    def test_in_a_folder_that_was_replaced_are_read_again(self, root):
        shutil.copytree(root / "kb/notes", root / "kb/copy")
        write(root, "kb/copy/a.md", "two")
        (root / "kb/notes").rename(root / "kb/old")
        (root / "kb/copy").rename(root / "kb/notes")

        assert hashes(root) == true_hashes(root)

    def test_behind_a_link_that_was_turned_are_read_again(self, root):
        write(root, "docs/one.md", "11")
        write(root, "docs/two.md", "22")
        link(root, "kb/notes/link.md", "../../docs/one.md")
        assert hashes(root)["kb/notes/link.md"] == sha256_hex(b"11")
        (root / "kb/notes/link.md").unlink()
        link(root, "kb/notes/link.md", "../../docs/two.md")

        assert hashes(root)["kb/notes/link.md"] == sha256_hex(b"22")

    def test_are_dropped_when_deleted_and_kept_when_out_of_scope(self, root):
        (root / A).unlink()
        with make_corpus(root) as corpus:
            corpus.notes(["kb/notes/0"])
        before = index_state(root)
        hashes(root)
        assert index_state(root) != before

        before = index_state(root)

        assert set(hashes(root)) == {f"kb/notes/{number}/n.md" for number in range(3)}
        assert index_state(root) == before

    def test_are_not_trusted_without_the_cache(self, root):
        with make_corpus(root, use_cache=False) as corpus:
            notes = corpus.notes().notes

        assert {note.path: note.sha256 for note in notes} == true_hashes(root)

    def test_are_neither_trusted_nor_kept_where_the_settings_say_so(self, root):
        path = make_config(root).index_path
        path.unlink()

        assert hashes(root, uses_cache=False) == true_hashes(root)
        assert not path.exists()

    def test_are_forgotten_when_the_clock_was_set_back(self, root):
        before = index_state(root)
        earlier = later() - 3_600_000_000_000

        assert hashes(root, clock_ns=lambda: earlier) == true_hashes(root)
        # Seen from an earlier clock every file is too young to be remembered: nothing is written.
        assert index_state(root) == before

    def test_keep_their_times(self, root):
        paths = list((root / "kb/notes").rglob("*.md"))
        before = [(path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in paths]

        hashes(root, use_cache=False)
        hashes(root)

        assert [(p.stat().st_mtime_ns, p.stat().st_ctime_ns) for p in paths] == before


class FakeReader:
    """Gives what it is told to, with the stat it is told to, and counts."""

    def __init__(self, signature: StatSignature | None) -> None:
        self.data = b"one"
        self.signature = signature
        self.reads = 0

    def read(self, path: str, disk_path: str) -> FileContent:
        self.reads += 1
        return FileContent(self.data, self.signature)


class TestTrust:
    NOW = 1_700_000_000_000_000_000
    LONG_AGO = NOW - 10 * RACY_WINDOW_NS + 1
    OLD = StatSignature(3, LONG_AGO, LONG_AGO, 7, 1)

    def load_twice(self, scanned: StatSignature, *, read: StatSignature | None, now_ns: int) -> str:
        """Load, change the content behind an equal stat, load again; give the second hash."""
        reader = FakeReader(read)
        index = FileIndex(None, root="/", clock_ns=lambda: now_ns)
        load = partial(load_notes, index=index, read=reader.read, now_ns=now_ns)
        found = ScanResult([FileEntry(A, A, scanned)], [])
        load(found)
        reader.data = b"two"
        return load(found).notes[0].sha256

    def test_is_given_to_a_file_that_lay_still_long_enough(self):
        assert self.load_twice(self.OLD, read=self.OLD, now_ns=self.NOW) == sha256_hex(b"one")

    @pytest.mark.parametrize("field", ["mtime_ns", "ctime_ns"])
    @pytest.mark.parametrize(
        "age_ns",
        [
            pytest.param(0, id="this-moment"),
            pytest.param(RACY_WINDOW_NS, id="just-inside-the-window"),
            pytest.param(-3_600_000_000_000, id="in-the-future"),
        ],
    )
    def test_is_withheld_from_a_file_changed_too_recently(self, field, age_ns):
        young = self.OLD._replace(**{field: self.NOW - age_ns})

        assert self.load_twice(young, read=young, now_ns=self.NOW) == sha256_hex(b"two")

    def test_is_withheld_from_a_file_that_changed_while_it_was_read(self):
        assert self.load_twice(self.OLD, read=None, now_ns=self.NOW) == sha256_hex(b"two")

    def test_belongs_to_the_stat_of_what_was_read_not_of_what_was_scanned(self):
        replaced = self.OLD._replace(inode=8)

        assert self.load_twice(self.OLD, read=replaced, now_ns=self.NOW) == sha256_hex(b"two")

    @pytest.mark.parametrize("field", StatSignature._fields)
    def test_ends_with_any_part_of_the_stat(self, field):
        reader = FakeReader(self.OLD)
        index = FileIndex(None, root="/", clock_ns=lambda: self.NOW)
        load = partial(load_notes, index=index, read=reader.read, now_ns=self.NOW)
        load(ScanResult([FileEntry(A, A, self.OLD)], []))
        changed = self.OLD._replace(**{field: getattr(self.OLD, field) - 1})

        again = ScanResult([FileEntry(A, A, changed)], [])
        load(again)

        assert reader.reads == 2


class TestReadNote:
    def test_gives_bytes_text_and_hash(self, tmp_path):
        data = b"\xef\xbb\xbf# T\r\n\r\nx"
        write(tmp_path, A, data)

        note = make_corpus(tmp_path).read_note(A)

        assert (note.path, note.data, note.text.encode()) == (A, data, data)
        assert note.sha256 == sha256_hex(data)

    @pytest.mark.parametrize("remembered", [True, False])
    def test_comes_with_the_facts_of_its_text(self, tmp_path, remembered):
        write(tmp_path, A, "---\nstatus: current\ntype: x\ntraits: [{a: b}]\n---\nBody\n")
        if remembered:
            hashes(tmp_path)
        corpus: Corpus = make_corpus(tmp_path)

        facts = corpus.facts_of(corpus.read_note(A))

        assert facts == make_corpus(tmp_path).notes().notes[0]

    def test_gives_facts_of_todays_text_not_of_what_is_remembered(self, tmp_path):
        write(tmp_path, A, "---\nstatus: draft\n---\nBody\n")
        hashes(tmp_path)
        write(tmp_path, A, "---\nstatus: current\n---\nBody\n")
        corpus = make_corpus(tmp_path)

        assert corpus.facts_of(corpus.read_note(A)).status == "current"

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            pytest.param("kb/notes/none.md", "vanished", id="missing"),
            pytest.param("../root/kb/notes/a.md", "not-a-file", id="climbs-out-and-in"),
            pytest.param("kb/notes/\u00e9.md", "name-collision", id="two-spellings"),
            pytest.param("kb/notes/bad.md", "not-utf8", id="not-utf8"),
            pytest.param(".env.md", "not-a-file", id="hidden"),
            pytest.param("kb/reports/r.md", "not-a-file", id="reports-folder"),
            pytest.param("tool.py", "not-a-file", id="not-markdown"),
            pytest.param("kb/notes/folder.md", "not-a-file", id="folder"),
        ],
    )
    def test_refuses_what_can_be_no_note(self, root, path, code):
        for name in ("kb/notes/\u00e9.md", "kb/notes/e\u0301.md", ".env.md", "kb/reports/r.md"):
            write(root, name)
        write(root, "tool.py")
        write(root, "kb/notes/bad.md", b"\xff")
        (root / "kb/notes/folder.md").mkdir()

        with pytest.raises(UnreadableFile) as caught:
            make_corpus(root).read_note(path)

        assert problem_codes([caught.value.problem]) == {path: code}

    def test_sees_a_change_between_two_reads(self, root):
        corpus = make_corpus(root)
        corpus.read_note(A)
        (root / A).write_text("two")

        assert corpus.read_note(A).text == "two"

    def test_sees_a_folder_replaced_between_two_reads(self, root):
        corpus = make_corpus(root)
        corpus.read_note(A)
        (root / "kb/notes").rename(root / "kb/old")
        write(root, A, "two")

        assert corpus.read_note(A).text == "two"
