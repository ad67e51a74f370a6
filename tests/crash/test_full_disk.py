"""Commands on a disk without room, and on one that cannot be written.

The disk is a small tmpfs, mounted in a namespace of its own by root or by `unshare`; where neither
is allowed, files may not grow beyond a limit, which the kernel refuses just as really.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash import rooms
from tests.crash.harness import Command, Ran
from tests.crash.striking import Bench, Reference
from tests.crash.tracing import Moment, Plan

_PAGE = 4096
_REPORTS = "kb/reports"
# What is on the small disk: store and job files, one of them, or the other.
PLACES = {"both": _REPORTS, "store": "elsewhere", "artifacts": f"{_REPORTS}/bundle-reviews"}
SWEPT = (
    "first-store", "create", "create-in-turns", "claim", "ingest", "ingest-a-file", "ingest-in-part",
    "ack", "carry-over", "set-decision", "recover-replace", "dispose", "repair", "rules",
)  # fmt: skip
READING = (
    "review_job_list",
    "review_status",
    "warn_selector",
    "review_target_selector --all-gates",
)


CAN_MOUNT = rooms.namespace() is not None


@dataclass
class Room:
    """A copy of a scenario's base, a part of which is on a small disk."""

    bench: Bench
    place: str
    reference: Reference
    root: Path
    used: int = 0

    @property
    def mounted(self) -> Path:
        """Where the disk is."""
        return self.root / PLACES[self.place]

    def call(self, name: str, **arguments: Any) -> Any:
        """Do something to the disk."""
        return self.bench.zygote.call(
            self.root, f"rooms.{name}", folder=str(self.mounted), **arguments
        )

    def run(self, line: str) -> Ran:
        """Run a command in the room."""
        return self.bench.run(self.root, Command((*line.split(), "--json")))


@contextmanager
def entered(bench: Bench, place: str) -> Iterator[Room]:
    """A new room, which is taken down afterwards."""
    reference = bench.reference
    root = bench.base.copy(f"room-{place}")
    room = Room(bench, place, reference, root)
    content = root / (_REPORTS if place == "store" else PLACES[place])
    content.mkdir(exist_ok=True, parents=True)
    if place == "store":
        bench.env["COMMONPLACE_REVIEW_DB"] = str(room.mounted / "review-store.sqlite")
    without = "bundle-reviews" if place == "store" else ""
    room.used = room.call("make", content=str(content), without=without)
    if place == "store":
        _share(bench, root)
    try:
        yield room
    finally:
        room.call("leave")
        bench.env.pop("COMMONPLACE_REVIEW_DB", None)


def _share(bench: Bench, root: Path) -> None:
    """The job files are where they were: only the store is on the small disk."""
    target = root / _REPORTS
    source = bench.base.root / _REPORTS / "bundle-reviews"
    target.mkdir()
    if source.exists():
        shutil.copytree(source, target / "bundle-reviews")


@dataclass(frozen=True)
class Swept:
    """What was wrong in the rooms that were tried, and in how many the command was refused."""

    faults: list[str]
    tried: int
    refused: int


def sweep(bench: Bench, place: str, sizes: Iterator[int]) -> Swept:
    """Run the command in a new room for each of the sizes, until it has all the room it wants."""
    faults: list[str] = []
    tried = refused = 0
    for free in sizes:
        with entered(bench, place) as room:
            room.call("limit", size=room.used + free)
            ran = bench.run(room.root, bench.scenario.command)
            looked = room.run("review_job_list")
            room.call("limit")
            found = bench.judge_refused(room.root, ran, room.reference, repair=False)
        if "Traceback" in looked.err or (looked.exit and not looked.refusal):
            found.append(f"a reading command ends with {looked.exit}: {looked.err[-500:]}")
        faults += [f"{bench.scenario.name}, {free} bytes free, {place}: {fault}" for fault in found]
        tried += 1
        if bench.was_complete(ran, room.reference):
            break
        refused += 1
    return Swept(faults, tried, refused)


def sweep_limits(bench: Bench, limits: Iterator[int]) -> Swept:
    """The same with a limit to the size of a file, where no disk can be mounted."""
    faults: list[str] = []
    tried = refused = 0
    for limit in limits:
        root = bench.base.copy("limited")
        settings = dict(bench.scenario.settings)
        ran = bench.zygote.run(root, bench.scenario.command, settings=settings, file_limit=limit)
        found = bench.judge_refused(root, ran, bench.reference)
        faults += [f"{bench.scenario.name}, files of {limit} bytes: {fault}" for fault in found]
        tried += 1
        refused += ran.exit != bench.reference.runs[0].exit
    return Swept(faults, tried, refused)


class TestFull:
    def test_at_some_size(self, bench, tried):
        sizes = iter((20 * _PAGE,))

        swept = (
            sweep(bench("ingest"), "both", sizes)
            if CAN_MOUNT
            else sweep_limits(bench("ingest"), sizes)
        )

        tried["full disks"] += swept.tried
        assert swept.refused
        assert not swept.faults, "\n".join(swept.faults)

    @pytest.mark.soak
    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("name", SWEPT)
    def test_at_each_size(self, name, place, bench, tried):
        # A store that is made has a hundred pages of its own before it has anything to hold.
        step = _PAGE * (8 if name == "first-store" else 1)
        sizes = iter(range(0, 200 * step, step))

        swept = sweep(bench(name), place, sizes) if CAN_MOUNT else sweep_limits(bench(name), sizes)

        tried[f"full disks, {place}: {name}"] += swept.tried
        assert not swept.faults, "\n".join(swept.faults)


@pytest.mark.skipif(
    not CAN_MOUNT, reason="no disk can be mounted here; others refuse writes anyway"
)
class TestReadOnly:
    """A disk that cannot be written, with the store, the job files, or both."""

    @pytest.mark.parametrize("place", PLACES)
    def test_a_command_is_refused_and_works_afterwards(self, place, bench, tried):
        refuse(bench("ingest"), place, tried)

    @pytest.mark.soak
    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("name", SWEPT)
    def test_each_command_is_refused(self, name, place, bench, tried):
        refuse(bench(name), place, tried)

    @pytest.mark.parametrize("keeps", [True, False], ids=["with-its-index", "without"])
    def test_reading_shows_what_was_stored_before_a_crash_or_refuses(self, keeps, bench):
        ingest = bench("ingest")
        told = ingest.calls.index("write stdout") + 1
        root = ingest.base.copy("crashed")
        ingest.run(root, ingest.scenario.command, Plan(at=told, moment=Moment.AFTER))
        if not keeps:
            (root / _REPORTS / "review-store.sqlite-shm").unlink()
        room = Room(ingest, "both", ingest.reference, root)
        room.call("make", content=str(room.mounted))
        room.call("close_for_writing")

        ran = room.run("review_job_list --status completed")

        room.call("leave")
        stored = '"review_job_id":1' in ran.out
        assert stored if keeps else (stored or ran.refusal == "store-not-opened"), ran


def refuse(bench: Bench, place: str, tried: Counter[str]) -> None:
    """Run the command where nothing can be written, and once more where that is mended."""
    with entered(bench, place) as room:
        room.call("close_for_writing")
        ran = bench.run(room.root, bench.scenario.command)
        reading = {line: room.run(line) for line in READING}
        room.call("limit")
        faults = bench.judge_refused(room.root, ran, room.reference, repair=False)
    tried[f"read-only disks, {place}"] += 1
    assert not faults, "\n".join(faults)
    if bench.scenario.name != "first-store":
        assert {line: (ran.exit, ran.err) for line, ran in reading.items() if ran.exit} == {}
