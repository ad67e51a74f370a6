"""Changes that try to look like none: whatever is done to files, the index never hides it."""

from __future__ import annotations

import os
import shutil
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from review.knowledge_base import index as index_module
from review.knowledge_base.index import FileIndex
from review.knowledge_base.reader import StatSignature
from tests.unit.knowledge_base.builders import make_config, write
from tests.unit.knowledge_base.filesystems import (
    answered,
    folders_on_all,
    let_the_clock_tick,
    read_in_full,
)

A, B = "kb/notes/a.md", "kb/notes/sub/b.md"


@pytest.fixture(params=["disk", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Two remembered notes of one size, on each kind of file system."""
    for folder in folders_on_all(tmp_path, request.param):
        write(folder, A, "aaaa")
        write(folder, B, "bbbb")
        let_the_clock_tick(folder)
        answered(folder)
        remembered = FileIndex(
            make_config(folder).index_path, root=str(folder), clock_ns=lambda: 1 << 62
        )
        assert set(remembered.notes) == {A, B}
        let_the_clock_tick(folder)
        yield folder


def restore_times(path: Path, before: os.stat_result) -> None:
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def edit_in_place(root: Path) -> None:
    before = (root / A).stat()
    with (root / A).open("r+b") as file:
        file.write(b"zzzz")
    restore_times(root / A, before)


def edit_through_a_hard_link(root: Path) -> None:
    before = (root / A).stat()
    os.link(root / A, root / "elsewhere")
    (root / "elsewhere").write_bytes(b"zzzz")
    restore_times(root / "elsewhere", before)
    (root / "elsewhere").unlink()


def rename_over(root: Path) -> None:
    before = (root / A).stat()
    new = write(root, "new", "zzzz")
    restore_times(new, before)
    new.replace(root / A)


def copy_with_times(root: Path) -> None:
    before = (root / A).stat()
    new = write(root, "new", "zzzz")
    restore_times(new, before)
    shutil.copy2(new, root / A)


def move_across(root: Path) -> None:
    before = (root / A).stat()
    new = write(root, "new", "zzzz")
    restore_times(new, before)
    shutil.move(new, root / A)


def unpack_an_archive(root: Path) -> None:
    before = (root / A).stat()
    new = write(root, "new", "zzzz")
    restore_times(new, before)
    with tarfile.open(root / "archive.tar", "w") as archive:
        archive.add(new, "a.md")
    with tarfile.open(root / "archive.tar") as archive:
        archive.extractall(root / "kb/notes", filter="data")


def check_out_older_times(root: Path) -> None:
    (root / A).unlink()
    write(root, A, "zzzz")
    os.utime(root / A, ns=(1, 1_000_000_000_000_000_000))


def set_times_in_the_future(root: Path) -> None:
    (root / A).write_bytes(b"zzzz")
    os.utime(root / A, ns=(4_000_000_000_000_000_000, 4_000_000_000_000_000_000))


def delete_and_make_again(root: Path) -> None:
    """Until the inode is the old one, where the file system gives them again at all."""
    before = (root / A).stat()
    for _ in range(200):
        (root / A).unlink()
        write(root, A, "zzzz")
        if (root / A).stat().st_ino == before.st_ino:
            break
    restore_times(root / A, before)


def swap_two_notes(root: Path) -> None:
    (root / A).rename(root / "third")
    (root / B).rename(root / A)
    (root / "third").rename(root / B)


def replace_the_folder(root: Path) -> None:
    shutil.copytree(root / "kb/notes/sub", root / "kb/new")
    before = (root / B).stat()
    (root / "kb/new/b.md").write_bytes(b"zzzz")
    restore_times(root / "kb/new/b.md", before)
    (root / "kb/notes/sub").rename(root / "kb/old")
    (root / "kb/new").rename(root / "kb/notes/sub")


def turn_a_linked_folder(root: Path) -> None:
    replace_the_folder(root)
    (root / "kb/notes/sub").rename(root / "kb/third")
    (root / "kb/notes/sub").symlink_to("../third")


def truncate_and_write_again(root: Path) -> None:
    before = (root / A).stat()
    os.truncate(root / A, 0)
    os.truncate(root / A, 4)  # four NUL bytes: a problem, and no longer a note
    restore_times(root / A, before)
    with (root / A).open("r+b") as file:
        file.write(b"yyyy")
    restore_times(root / A, before)


ATTACKS: tuple[Callable[[Path], None], ...] = (
    edit_in_place,
    edit_through_a_hard_link,
    rename_over,
    copy_with_times,
    move_across,
    unpack_an_archive,
    check_out_older_times,
    set_times_in_the_future,
    delete_and_make_again,
    swap_two_notes,
    replace_the_folder,
    turn_a_linked_folder,
    truncate_and_write_again,
)


class TestRememberedDigest:
    @pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
    def test_never_outlives_the_text(self, root, attack):
        before = read_in_full(root)

        attack(root)

        assert read_in_full(root) != before
        assert answered(root) == read_in_full(root)
        assert answered(root) == read_in_full(root)

    @pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
    def test_never_outlives_a_text_changed_after_the_scan(self, root, attack, monkeypatch):
        """The change falls between the stat of the scan and the open of the file."""
        write(root, A, "aaa1")  # so that it must be read
        real = os.open
        changed = []

        def changing_open(name, flags, *args, **kwargs):
            if str(name).endswith("/a.md") and not changed:
                changed.append(name)
                attack(root)
            return real(name, flags, *args, **kwargs)

        monkeypatch.setattr(os, "open", changing_open)
        answered(root, clock_ns=time.time_ns)
        monkeypatch.undo()

        assert changed
        assert answered(root, clock_ns=time.time_ns) == read_in_full(root)

    def test_never_outlives_a_text_changed_while_it_is_read(self, root, monkeypatch):
        write(root, A, "aaa1")
        let_the_clock_tick(root)
        real = os.read

        def changing_read(descriptor, size):
            data = real(descriptor, size)
            if data == b"aaa1":
                edit_in_place(root)
            return data

        monkeypatch.setattr(os, "read", changing_read)
        answered(root)
        monkeypatch.undo()

        assert answered(root) == read_in_full(root)

    def test_never_outlives_edits_as_fast_as_they_come(self, root):
        """The real clock: what changes within one tick is too young to be remembered."""
        before = (root / A).stat()
        for number in range(100):
            with (root / A).open("r+b") as file:
                file.write(b"%04d" % number)
            restore_times(root / A, before)

            assert answered(root, clock_ns=time.time_ns) == read_in_full(root)


class TestClock:
    def test_set_back_between_load_and_save_lets_nothing_old_be_trusted(self, tmp_path):
        """Rows loaded at ten and saved at nine are rows of ten."""
        path, hour = tmp_path / "x.index", 3_600_000_000_000
        row = index_module.NoteRow(SETTLED, "0" * 64, "", 0, ())
        clock = [10 * hour]
        first = FileIndex(path, root="/r", clock_ns=lambda: clock[0])
        first.keep(first.notes, "a.md", row)
        first.save()

        second = FileIndex(path, root="/r", clock_ns=lambda: clock[0])
        assert second.notes == {"a.md": row}
        clock[0] = 9 * hour
        second.keep(second.notes, "b.md", row)
        second.save()

        assert FileIndex(path, root="/r", clock_ns=lambda: 9 * hour + 1).notes == {}
        assert set(FileIndex(path, root="/r", clock_ns=lambda: 10 * hour).notes) == {"a.md", "b.md"}

    @pytest.mark.parametrize("hours", [-24, -1, 1, 24 * 365])
    def test_set_wrong_changes_no_answer(self, root, hours):
        wrong = time.time_ns() + hours * 3_600_000_000_000

        answered(root, clock_ns=lambda: wrong)
        edit_in_place(root)

        assert answered(root, clock_ns=lambda: wrong) == read_in_full(root)
        assert answered(root) == read_in_full(root)


NOW = 1_700_000_000_000_000_000
SETTLED = StatSignature(4, NOW - 10**11 + 1, NOW - 10**11 + 1, 7, 1)


class TestSettled:
    def test_is_a_file_of_fine_times_that_lay_still(self):
        assert SETTLED.is_settled(read_at_ns=NOW)

    @pytest.mark.parametrize(
        "ctime_ns",
        [
            pytest.param(NOW - 10**11, id="whole-seconds"),
            pytest.param(NOW - 10**11 + 20_000_000, id="hundredths"),
            pytest.param(0, id="an-image-without-times"),
        ],
    )
    def test_is_no_file_whose_change_time_may_be_a_copy_of_what_anyone_can_set(self, ctime_ns):
        assert not SETTLED._replace(ctime_ns=ctime_ns).is_settled(read_at_ns=NOW)

    @pytest.mark.parametrize("mtime_ns", [-(10**20), 10**20])
    def test_is_no_file_with_times_that_cannot_be_written_down(self, mtime_ns):
        assert not SETTLED._replace(mtime_ns=mtime_ns).is_settled(read_at_ns=NOW)


class TestExtremeNumbers:
    @pytest.mark.parametrize("seconds", [-(10**11), -(10**9), 0, 2**31, 2**32, 2**34, 10**11])
    def test_of_times_are_taken(self, root, seconds):
        try:
            os.utime(root / A, (seconds, seconds))
        except (OSError, OverflowError):
            pytest.skip("the file system has no such time")

        assert answered(root) == read_in_full(root)
        assert answered(root) == read_in_full(root)

    def test_of_inodes_and_devices_are_kept(self, tmp_path):
        path = tmp_path / "x.index"
        signature = StatSignature(2**62, -1, 2**62 + 1, 2**64 - 1, 2**64 - 1)
        row = index_module.NoteRow(signature, "0" * 64, "", 0, ())
        filled = FileIndex(path, root="/r", clock_ns=lambda: NOW)
        filled.keep(filled.notes, "a.md", row)

        filled.save()

        assert FileIndex(path, root="/r", clock_ns=lambda: NOW).notes == {"a.md": row}
