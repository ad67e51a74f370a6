"""Random histories of a knowledge base: after any of them the index answers what a full read does."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from review.knowledge_base import Corpus
from tests.unit.knowledge_base.builders import later, make_config, make_corpus, write
from tests.unit.knowledge_base.filesystems import let_the_clock_tick

FOLDERS = ("kb/notes", "kb/notes/x", "kb/notes/y")
NOTES = ("kb/notes/a.md", "kb/notes/x/a.md", "kb/notes/x/b.md", "kb/notes/y/a.md")
# Most of one length, so that the size tells nothing.
TEXTS = ("one1", "two2", "thr3", "fou4", "---\nstatus: current\n---\n", "---\ntype: [\n---\n", "")
notes, texts = st.sampled_from(NOTES), st.sampled_from(TEXTS)


class KnowledgeBase(RuleBasedStateMachine):
    """Files change by every means; commands come and go, keep what they read, or are killed."""

    @initialize(memory=st.booleans())
    def start(self, memory: bool) -> None:
        parent = "/dev/shm" if memory and os.access("/dev/shm", os.W_OK) else None  # noqa: S108
        self.root = Path(tempfile.mkdtemp(dir=parent))
        for path in NOTES:
            write(self.root, path, "one1")
        self.skew = 0
        self.unsaved: Corpus | None = None
        self.times: list[int] = [time.time_ns()]

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def clock(self) -> int:
        return later() + self.skew

    def at(self, path: str) -> Path:
        target = self.root / path
        if target.parent.is_symlink() or not target.parent.is_dir():
            self._clear(target.parent)
            target.parent.mkdir()
        return target

    def _clear(self, path: Path) -> None:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)

    @rule(path=notes, text=texts, keep_times=st.booleans())
    def write_in_place(self, path: str, text: str, keep_times: bool) -> None:
        target = self.at(path)
        before = target.stat() if target.is_file() else None
        self._clear(target) if target.is_symlink() else None
        target.write_text(text)
        if before and keep_times:
            os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(path=notes)
    def change_nothing_but_the_text(self, path: str) -> None:
        target = self.at(path)
        if target.is_file() and target.stat().st_size:
            before = target.stat()
            data = bytearray(target.read_bytes())
            data[0] ^= 1
            with target.open("r+b") as file:
                file.write(data)
            os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(path=notes, text=texts, when=st.integers(0, 5))
    def rename_into_place(self, path: str, text: str, when: int) -> None:
        target = self.at(path)
        new = write(self.root, "new", text)
        os.utime(new, ns=(1, self.times[when % len(self.times)]))
        new.replace(target)

    @rule(path=notes, other=notes)
    def swap(self, path: str, other: str) -> None:
        one, two = self.at(path), self.at(other)
        if one != two and one.exists() and two.exists():
            one.rename(self.root / "third")
            two.rename(one)
            (self.root / "third").rename(two)

    @rule(path=notes, other=notes)
    def hard_link(self, path: str, other: str) -> None:
        one, two = self.at(path), self.at(other)
        if one != two and one.is_file() and not one.is_symlink():
            two.unlink(missing_ok=True)
            os.link(one, two)

    @rule(path=notes, other=notes)
    def symbolic_link(self, path: str, other: str) -> None:
        one, two = self.at(path), self.at(other)
        if one != two:
            one.unlink(missing_ok=True)
            one.symlink_to(two)

    @rule(name=st.sampled_from("xy"), how=st.sampled_from(["copy", "link", "restore"]))
    def replace_folder(self, name: str, how: str) -> None:
        folder, kept = self.root / "kb/notes" / name, self.root / f"kb/kept-{name}"
        if how == "restore" and kept.is_dir():
            self._clear(folder)
            kept.rename(folder)
        elif folder.is_dir() and not folder.is_symlink() and not kept.exists():
            shutil.copytree(folder, self.root / "kb/new", symlinks=True)
            folder.rename(kept)
            if how == "link":
                folder.symlink_to(f"../kept-{name}")
                self._clear(self.root / "kb/new")
            else:
                (self.root / "kb/new").rename(folder)

    @rule(path=notes)
    def delete(self, path: str) -> None:
        self.at(path).unlink(missing_ok=True)

    @rule(path=notes, seconds=st.sampled_from([-(10**11), 0, 1, 10**9, 2**33, 10**11]))
    def set_times(self, path: str, seconds: int) -> None:
        target = self.at(path)
        if target.is_file():
            try:
                os.utime(target, (seconds, seconds))
            except (OSError, OverflowError):
                return
            self.times.append(target.stat().st_mtime_ns)

    @rule(skew=st.integers(-3, 3))
    def set_clock(self, skew: int) -> None:
        self.skew = skew * 20_000_000_000

    @rule(cut=st.integers(0, 400), flip=st.booleans())
    def damage_index(self, cut: int, flip: bool) -> None:
        path = make_config(self.root).index_path
        if not path.is_file():
            return
        data = bytearray(path.read_bytes())
        if flip and data:
            data[cut % len(data)] ^= 1 << cut % 8
            path.write_bytes(data)
        else:
            path.write_bytes(data[:cut])

    @rule()
    def begin_a_long_command(self) -> None:
        self.unsaved = make_corpus(self.root, clock_ns=self.clock)
        self.unsaved.notes()

    @rule()
    def end_the_long_command(self) -> None:
        if self.unsaved is not None:
            self.unsaved.notes()
            self.unsaved.save()
        self.unsaved = None

    @rule(folder=st.sampled_from(FOLDERS))
    def ask_for_a_part(self, folder: str) -> None:
        if (self.root / folder).is_dir():
            with make_corpus(self.root, clock_ns=self.clock) as corpus:
                corpus.notes([folder])

    @invariant()
    def answers_what_a_full_read_does(self) -> None:
        if not hasattr(self, "root"):
            return
        let_the_clock_tick(self.root)
        truth = make_corpus(self.root, use_cache=False).notes()

        with make_corpus(self.root, clock_ns=self.clock) as corpus:
            assert corpus.notes() == truth
        let_the_clock_tick(self.root)


KnowledgeBase.TestCase.settings = settings(
    max_examples=int(os.environ.get("COMMONPLACE_TEST_HISTORIES", "25")), stateful_step_count=20
)
TestKnowledgeBase = KnowledgeBase.TestCase
