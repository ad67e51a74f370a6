"""Keeps a store of today's schema: `python -m tests.stores.make`, before a migration is added.

It tells the story of `tests/helpers/story.py` by real commands and packs the knowledge base, the
store, the files of its jobs and what the reading commands answered into
`tests/stores/<latest migration>.tar.gz`. With `--back-to MIGRATION` the store is migrated back first.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from review.store.opening import known_migrations
from tests.builders import PARTITION
from tests.helpers.commands import Result
from tests.helpers.forked import run_forked
from tests.helpers.story import Story, story_root

FOLDER = Path(__file__).parent
STORE = "kb/reports/review-store.sqlite"
FILES_OF_JOBS = "kb/reports/bundle-reviews"
ANSWERS = "answers.json"


def main() -> None:
    """Make one kept store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--back-to", metavar="MIGRATION", help="the schema to keep; default: today's"
    )
    wanted = parser.parse_args().back_to
    with tempfile.TemporaryDirectory() as folder:
        root = story_root(Path(folder).resolve())
        Story(root, doing(root)).tell()
        told = answers(root)
        if wanted:
            _migrate_back(root, wanted)
        (root / ANSWERS).write_text(json.dumps(told, indent=1, sort_keys=True), encoding="utf-8")
        _keep_whole(root)
        _pack(root, FOLDER / f"{wanted or max(known_migrations())}.tar.gz")


def doing(root: Path) -> Any:
    """Runs a command on the repository at `root`, as a process of its own."""

    def do(*argv: object, stdin: str | None = None) -> Result:
        return run_forked(*argv, root=root, stdin=stdin)

    return do


def answers(root: Path, do: Any = None) -> dict[str, Any]:
    """What the store must still say after any upgrade; nothing that a version may word otherwise.

    :param do: runs a command; without it, one on the store below `root`.
    """
    do = do or doing(root)
    selection = do("review_target_selector", "--all-gates", "--model", PARTITION, "--json").json
    queue = do("warn_selector", "--json").json
    jobs = do("review_job_list", "--json").json
    return {
        "counts": selection["counts"],
        "targets": [[it["note_path"], it["gate_id"], it["reason"]] for it in selection["targets"]],
        "queue": [
            [entry["note_path"], entry["gate_id"], entry["decision"],
             [finding["fingerprint"] for finding in entry["findings"]
              if not finding.get("of_whole_review")]]
            for entry in queue["entries"]
        ],
        "jobs": [[job["review_job_id"], job["status"], job["pair_count"]] for job in jobs["jobs"]],
    }  # fmt: skip


def unpack(name: str, folder: Path) -> dict[str, Any]:
    """Put a kept store and its knowledge base into `folder`; gives the answers it had."""
    with tarfile.open(FOLDER / f"{name}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    answered: dict[str, Any] = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))
    return answered


def kept_stores() -> list[str]:
    """The names of the schemas of which a store is kept, in their order."""
    return sorted(file.name.removesuffix(".tar.gz") for file in FOLDER.glob("*.tar.gz"))


def _migrate_back(root: Path, migration: str) -> None:
    done = run_forked("migrate", "review", migration, root=root)
    if done.exit:
        sys.exit(done.err)
    # The way back forgets which store it is; its folders would be a stranger's.
    shutil.rmtree(root / FILES_OF_JOBS)


def _keep_whole(root: Path) -> None:
    """Replace the store with a backup of it: one file, with what its log still held."""
    copy = root / "copy.sqlite"
    done = run_forked("review_doctor", "--backup", copy, root=root)
    if done.exit:
        sys.exit(done.err)
    for left in (root / "kb/reports").glob("review-store*"):
        left.unlink()
    copy.rename(root / STORE)


def _pack(root: Path, target: Path) -> None:
    """Pack in one order and with no times, so that the same store gives the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as packed:
        files = [root / ANSWERS, *sorted(root.glob("kb/**/*"))]
        for file in files:
            if file.is_file():
                packed.add(file, file.relative_to(root).as_posix(), filter=_without_times)
    target.write_bytes(gzip.compress(raw.getvalue(), mtime=0))
    sys.stderr.write(f"{target.name}: {target.stat().st_size:,} bytes\n")


def _without_times(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = 0
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
