"""Whether the file index may be trusted on a file system: `python -m tests.unit.knowledge_base.anywhere FOLDER`.

Every hidden edit is tried below FOLDER with the real clock; a minute in all, more where it is late. With `--behind
OTHER`, which names the same folder as it is at the other end of a share, the edits are made there.
One line for each edit: its name, what the index said (`right`, `WRONG`, `late` where it was right
after a while, or `impossible` where the file system has no such edit), what reading without it
said, and how many of the two notes the index had remembered.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from review.knowledge_base.index import FileIndex
from review.knowledge_base.reader import RACY_WINDOW_NS
from tests.unit.knowledge_base.builders import make_config, write
from tests.unit.knowledge_base.filesystems import answered, read_in_full
from tests.unit.knowledge_base.test_index_attacks import ATTACKS, A, B

_SETTLE = RACY_WINDOW_NS / 1e9 + 0.6  # seconds
_PATIENCE = 25  # seconds: longer than a share keeps attributes by default


def main() -> int:
    """Try all; exit 1 if the index was wrong or late anywhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--behind", type=Path)
    options = parser.parse_args()
    said = tried(options.folder.resolve(), behind=options.behind)
    for line in said:
        sys.stdout.write(f"{line}\n")
    return int(any(" WRONG " in line or " late " in line for line in said))


def tried(
    folder: Path, *, behind: Path | None = None, clock_ns: object = time.time_ns
) -> list[str]:
    """Try every edit below `folder`, each on a base of its own.

    :param behind: the same folder at the other end.
    :param clock_ns: the clock of the index.
    """
    places = {attack.__name__: folder / f"edit-{number}" for number, attack in enumerate(ATTACKS)}
    for root in places.values():
        write(root, A, "aaaa")
        write(root, B, "bbbb")
    time.sleep(_SETTLE)
    remembered = {name: _remembered(root, clock_ns) for name, root in places.items()}
    said = []
    for attack in ATTACKS:
        root = places[attack.__name__]
        there = behind / root.name if behind else root
        said.append(
            f"{attack.__name__} {_outcome(root, there, attack, clock_ns)} {remembered[attack.__name__]}"
        )
        shutil.rmtree(root, ignore_errors=True)
    return said


def _remembered(root: Path, clock_ns: object) -> int:
    answered(root, clock_ns=clock_ns)
    index = FileIndex(make_config(root).index_path, root=str(root), clock_ns=time.time_ns)
    return len(index.notes)


def _outcome(root: Path, there: Path, attack: Callable[[Path], None], clock_ns: object) -> str:
    try:
        attack(there)
        truth = read_in_full(there)
    except OSError:
        return "impossible -"
    by_index = answered(root, clock_ns=clock_ns)
    in_full = answered(root, clock_ns=clock_ns, use_cache=False)
    afresh = "right" if in_full == truth else "WRONG"
    if by_index == truth:
        return f"right {afresh}"
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        time.sleep(1)
        if answered(root, clock_ns=clock_ns) == truth:
            return f"late {afresh}"
    return f"WRONG {afresh}"


if __name__ == "__main__":
    sys.exit(main())
