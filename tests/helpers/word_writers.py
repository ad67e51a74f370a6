"""A process of several threads that open one index of words at the same moment, again and again."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from review.overview.search import Entry, open_index

ROUNDS = 60
THREADS = 4
TEXTS = 2


def write(folder: str, writer: str) -> None:
    """Add texts to an index that is not there yet, round after round.

    Two such processes make `THREADS * TEXTS` texts each in every round's file.
    """
    # Threads that change places often meet in the middle of what they do.
    sys.setswitchinterval(1e-6)
    for number in range(ROUNDS):
        path = Path(folder) / str(number) / "words"
        threads = [
            threading.Thread(target=_add, args=(path, f"{writer}-{thread}"))
            for thread in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _add(path: Path, name: str) -> None:
    with open_index(path, store_id="5" * 32) as index:
        for number in range(TEXTS):
            index.add([Entry("note", f"{name}-{number}", "title", "words")])
