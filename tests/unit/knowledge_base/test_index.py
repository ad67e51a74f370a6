"""The index file: damaged, foreign, missing or contested, it makes a command slower and never wrong."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.domain.applicability import language_of
from review.domain.link_state import LinkFacts, link_facts
from review.knowledge_base import Corpus, NoteFacts, index
from review.knowledge_base.index import FileIndex, NoteRow
from review.knowledge_base.reader import StatSignature
from tests.helpers.doctoring import NO_KIND
from tests.unit.knowledge_base.builders import later, make_config, make_corpus, write

NOTES = {f"kb/notes/{number}.md": f"---\nstatus: s{number}\n---\nNote\n" for number in range(4)}


def answers(root: Path, **changes: object) -> dict[str, tuple[str, str]]:
    with make_corpus(root, **changes) as corpus:
        return {note.path: (note.sha256, note.status) for note in corpus.notes().notes}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("base")
    for path, text in NOTES.items():
        write(root, path, text)
    answers(root)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in NOTES.items():
        write(tmp_path, path, text)
    answers(tmp_path)
    return tmp_path


class TestDamage:
    @given(data=st.data())
    def test_of_any_kind_changes_no_answer(self, base, data):
        path = make_config(base).index_path
        truth = answers(base, use_cache=False)
        good = path.read_bytes()
        at = data.draw(st.integers(0, len(good)))
        until = data.draw(st.integers(at, min(len(good), at + 40)))
        bad = good[:at] + data.draw(st.binary(max_size=8)) + good[until:]
        path.write_bytes(bad)

        assert answers(base) == truth
        path.write_bytes(good)

    @given(st.binary(max_size=300))
    def test_down_to_any_bytes_changes_no_answer(self, base, bad):
        path = make_config(base).index_path
        truth = answers(base, use_cache=False)
        path.write_bytes(bad)

        assert answers(base) == truth

    @pytest.mark.parametrize("kind", ["fifo", "folder", "dead-link"])
    def test_by_something_that_is_no_file_changes_no_answer(self, root, kind):
        truth = answers(root)
        path = make_config(root).index_path
        path.unlink()
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("nowhere/at/all")

        assert answers(root) == truth

    def test_that_keeps_the_checksum_right_changes_no_answer(self, root):
        path = make_config(root).index_path
        truth = answers(root)
        content = msgspec.msgpack.decode(path.read_bytes()[32:])
        content[-1] = {"kb/notes/0.md": "no row"}
        data = msgspec.msgpack.encode(content)
        path.write_bytes(hashlib.sha256(data).digest() + data)

        assert answers(root) == truth

    def test_is_mended_by_the_next_command(self, root):
        path = make_config(root).index_path
        path.write_bytes(b"broken")

        answers(root)

        assert FileIndex(path, root=str(root), clock_ns=later).notes.keys() == NOTES.keys()


class TestForeignIndex:
    def test_of_another_root_is_not_used(self, root, tmp_path):
        path = make_config(root).index_path

        assert FileIndex(path, root="/elsewhere", clock_ns=later).notes == {}

    def test_of_other_rules_is_not_used(self, root, monkeypatch):
        path = make_config(root).index_path
        monkeypatch.setattr(index, "_STAMP", "commonplace-file-index/1.0")

        assert FileIndex(path, root=str(root), clock_ns=later).notes == {}

    def test_from_the_future_is_not_used(self, root):
        path = make_config(root).index_path

        assert FileIndex(path, root=str(root), clock_ns=lambda: 1).notes == {}


class TestTexts:
    def test_that_the_index_has_are_read_once(self, root, monkeypatch):
        with make_corpus(root) as corpus:
            known = {note.path: note for note in corpus.notes().notes}
        monkeypatch.setattr("review.knowledge_base.facts_of_text", lambda _note: pytest.fail())

        with make_corpus(root) as corpus:
            found = {path: corpus.facts_of(corpus.read_note(path)) for path in NOTES}

        assert found == known

    def test_that_were_edited_since_are_read_again(self, root):
        write(root, "kb/notes/1.md", "---\nstatus: edited\n---\nNote\n")

        with make_corpus(root) as corpus:
            assert corpus.facts_of(corpus.read_note("kb/notes/1.md")).status == "edited"


class TestFactsThatFewAskFor:
    PATH = "kb/notes/0.md"

    @pytest.fixture
    def calls(self, monkeypatch):
        """Texts whose links are read, and texts whose language is recognised."""
        found: dict[str, list[str]] = {"links": [], "language": []}

        def links(text: str, *, note_path: str) -> LinkFacts:
            found["links"].append(text)
            return link_facts(text, note_path=note_path)

        def language(text: str) -> str:
            found["language"] += [text] if text else []
            return language_of(text)

        monkeypatch.setattr("review.knowledge_base.notes.link_facts", links)
        monkeypatch.setattr("review.domain.applicability.language_of", language)
        return found

    def note(self, corpus: Corpus) -> NoteFacts:
        return corpus.notes().notes[0]

    def test_are_not_read_for_a_list_of_notes(self, root, calls):
        self.note(make_corpus(root, use_cache=False))

        assert calls == {"links": [], "language": []}

    def test_links_are_kept_once_they_were_asked_for(self, root, calls):
        write(root, self.PATH, "[b](b.md)\n")
        for _ in range(2):
            with make_corpus(root) as corpus:
                assert corpus.links_of(self.note(corpus)).names == ("b",)

        assert len(calls["links"]) == 1

    def test_links_of_an_edited_note_are_read_again(self, root):
        with make_corpus(root) as corpus:
            corpus.links_of(self.note(corpus))
        write(root, self.PATH, "[c](c.md)\n")
        with make_corpus(root) as corpus:
            assert corpus.links_of(self.note(corpus)).names == ("c",)

    def test_a_language_is_recognised_once_a_gate_asks(self, root, calls):
        write(root, self.PATH, "The cache is not the store, and that is for the best.\n")
        answers(root)
        gate = "---\ngate_id: prose/x\nlanguage: de\n---\nText\n"
        write(root, "kb/instructions/review-gates/prose/x.md", gate)
        for _ in range(2):
            with make_corpus(root) as corpus:
                assert self.note(corpus).kind.language == "en"

        assert len(calls["language"]) == len(NOTES)


class TestSave:
    ROW = NoteRow(StatSignature(1, 2, 3, 4, 5), "0" * 64, "", 0, ())

    def filled(self, path: Path) -> FileIndex:
        filled = FileIndex(path, root="/r", clock_ns=later)
        filled.kind_number(NO_KIND)
        filled.keep(filled.notes, "a.md", self.ROW)
        return filled

    def test_makes_the_folder(self, tmp_path):
        path = tmp_path / "kb/reports/x.index"

        self.filled(path).save()

        assert FileIndex(path, root="/r", clock_ns=later).notes == {"a.md": self.ROW}

    def test_leaves_no_draft_behind(self, tmp_path):
        path = tmp_path / "x.index"

        self.filled(path).save()

        assert list(tmp_path.iterdir()) == [path]

    def test_does_nothing_twice(self, tmp_path):
        path = tmp_path / "x.index"
        filled = self.filled(path)
        filled.save()
        before = path.stat().st_ino, path.stat().st_mtime_ns

        filled.save()

        assert (path.stat().st_ino, path.stat().st_mtime_ns) == before

    def test_obeys_the_umask_so_that_others_may_read_it(self, tmp_path):
        path = tmp_path / "x.index"
        before = os.umask(0o022)
        try:
            self.filled(path).save()
        finally:
            os.umask(before)

        assert path.stat().st_mode & 0o777 == 0o644

    @pytest.mark.parametrize("obstacle", ["file-as-folder", "folder-as-file"])
    def test_that_fails_is_silent_and_leaves_no_draft(self, tmp_path, obstacle):
        path = tmp_path / "folder/x.index"
        if obstacle == "file-as-folder":
            (tmp_path / "folder").write_text("")
        else:
            (path / "occupied").mkdir(parents=True)

        self.filled(path).save()

        assert not list(tmp_path.rglob("*.tmp"))

    def test_that_meets_a_full_disk_keeps_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "x.index"
        self.filled(path).save()
        before = path.read_bytes()

        def refuse(descriptor: int, mode: str) -> None:
            os.close(descriptor)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fdopen", refuse)
        self.filled(path).save()

        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_by_many_at_once_leaves_one_whole_file(self, tmp_path):
        path = tmp_path / "x.index"

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: self.filled(path).save(), range(64)))

        assert FileIndex(path, root="/r", clock_ns=later).notes == {"a.md": self.ROW}
        assert list(tmp_path.iterdir()) == [path]
