"""What the file index says on file systems that are mounted for it; run in a mount namespace of its own.

`unshare --map-root-user --mount python -m tests.unit.knowledge_base.mounted FOLDER` prints one line for each
history: its name, and `right` or `WRONG`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from review.knowledge_base import Corpus
from tests.unit.knowledge_base.builders import later, make_config, write
from tests.unit.knowledge_base.filesystems import answered, let_the_clock_tick, read_in_full
from tests.unit.knowledge_base.test_index_attacks import ATTACKS, A, B


class _Disk(NamedTuple):
    """How a file system is made, and the least size in bytes that it takes."""

    size: int
    command: tuple[str, ...]


DISKS = {
    "xfs": _Disk(320 << 20, ("mkfs.xfs", "-q")),
    "btrfs": _Disk(160 << 20, ("mkfs.btrfs", "-q")),
    "ext2": _Disk(8 << 20, ("mkfs.ext2", "-q", "-F")),
    "ext3": _Disk(16 << 20, ("mkfs.ext3", "-q", "-F")),
}


def main(folder: Path) -> None:
    """Try every history that the machine has the file systems for."""
    made = tuple(partial(on_disk_of, kind) for kind in DISKS)
    for history in (overlay, copied_up, mounted_again, swapped_by_binding, full_disk, *made):
        name = history.args[0] if isinstance(history, partial) else history.__name__
        place = folder / name
        place.mkdir()
        try:
            is_right = history(place)
        except (subprocess.CalledProcessError, FileNotFoundError):
            continue  # this machine mounts no such thing
        sys.stdout.write(f"{name} {'right' if is_right else 'WRONG'}\n")


def _mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True, env=os.environ)


def _overlay(place: Path) -> Path:
    for name in ("lower", "upper", "work", "root"):
        (place / name).mkdir(exist_ok=True)
    options = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
    _mount("-t", "overlay", "overlay", "-o", options, place / "root")
    return place / "root"


def overlay(place: Path) -> bool:
    """Every attack on a file system of containers."""
    root = _overlay(place)
    return all(_survives(root / f"{number}", attack) for number, attack in enumerate(ATTACKS))


def on_disk_of(kind: str, place: Path) -> bool:
    """Every attack on a disk of this kind, in a file."""
    image, root = place / "image", place / "root"
    root.mkdir()
    with image.open("wb") as file:
        file.truncate(DISKS[kind].size)
    subprocess.run([*DISKS[kind].command, str(image)], check=True, capture_output=True)
    _mount("-o", "loop", image, root)
    try:
        return all(_survives(root / f"{number}", attack) for number, attack in enumerate(ATTACKS))
    finally:
        subprocess.run(["umount", str(root)], check=True)


def _survives(root: Path, attack: Callable[[Path], None]) -> bool:
    write(root, A, "aaaa")
    write(root, B, "bbbb")
    let_the_clock_tick(root)
    answered(root)
    let_the_clock_tick(root)
    attack(root)
    return answered(root) == read_in_full(root)


def copied_up(place: Path) -> bool:
    """A note of the image below is edited: the file system copies it, times and all, and edits that."""
    (place / "lower").mkdir()
    write(place / "lower", A, "aaaa")
    root = _overlay(place)
    let_the_clock_tick(root)
    answered(root)
    before = (root / A).stat()
    with (root / A).open("r+b") as file:
        file.write(b"zzzz")
    os.utime(root / A, ns=(before.st_atime_ns, before.st_mtime_ns))
    return answered(root) == read_in_full(root)


def mounted_again(place: Path) -> bool:
    """Another file system in memory takes the place, the device number and the inodes of the first."""
    root = place / "root"
    root.mkdir()
    right = []
    for text in ("aaaa", "zzzz"):
        _mount("-t", "tmpfs", "none", root)
        write(root, A, text)
        os.utime(root / A, ns=(1, 1_000_000_000_000_000_001))
        let_the_clock_tick(root)
        config = make_config(root, database=str(place / "store.sqlite"))
        with Corpus(config, clock_ns=later) as corpus:
            found = {note.path: note.sha256 for note in corpus.notes().notes}
        right.append(found == read_in_full(root))
        subprocess.run(["umount", str(root)], check=True)
    return all(right)


def swapped_by_binding(place: Path) -> bool:
    """The notes folder is covered by another one, and uncovered."""
    root = place / "root"
    write(root, A, "aaaa")
    let_the_clock_tick(root)
    answered(root)
    before = (root / A).stat()
    other = write(place, "other/a.md", "zzzz")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    _mount("--bind", other.parent, root / "kb/notes")
    covered = answered(root) == read_in_full(root)
    subprocess.run(["umount", str(root / "kb/notes")], check=True)
    return covered and answered(root) == read_in_full(root)


def full_disk(place: Path) -> bool:
    """No room for the index, then a disk that may not be written: slower, and nothing is left."""
    root, disk = place / "root", place / "disk"
    write(root, A, "aaaa")
    disk.mkdir()
    _mount("-t", "tmpfs", "-o", "size=64k", "none", disk)
    with (disk / "filling").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    config = make_config(root, database=str(disk / "store.sqlite"))
    right = []
    for options in ("rw", "ro"):
        _mount("-o", f"remount,{options}", disk)
        with Corpus(config, clock_ns=later) as corpus:
            found = {note.path: note.sha256 for note in corpus.notes().notes}
        right.append(found == read_in_full(root) and os.listdir(disk) == ["filling"])  # noqa: PTH208
    return all(right)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
