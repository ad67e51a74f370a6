"""Every command, killed at each of its writes: nothing is halved, nothing is lost, the next run finishes.

`make soak` strikes at all writes of all commands; the suite at a few, drawn by name.
"""

from __future__ import annotations

import errno
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.crash.harness import Ran
from tests.crash.striking import Bench
from tests.crash.tracing import Moment, Plan, can_change_calls
from tests.crash.wider_scenarios import BY_NAME

# Those whose work is done in the database, in files, and in both.
SAMPLED = ("create", "ingest", "recover-replace")
SAMPLE = 1
_EVERY_FOURTH = 4
_ENDS = 24


def strikes(
    calls: tuple[str, ...], *, every: int = 1, repeats: int = 1
) -> Iterator[tuple[int, Moment]]:
    """Before each write, after each, and in each; of a row of writes to one file the ends.

    After one write and before the next the files are the same, so that between two writes of a
    kind one kill serves for both.

    :param every: of such a row only every so many are struck, and its ends.
    :param repeats: of all calls but the first and the last only every so many are struck.
    """
    for at in chosen(calls, every=every, repeats=repeats):
        call, is_last = calls[at - 1], at == len(calls) or calls[at] != calls[at - 1]
        yield at, Moment.BEFORE
        if is_last:
            yield at, Moment.AFTER
        halved = can_change_calls() and call.startswith(("write ", "pwrite64 "))
        if halved and (".sqlite" not in call or at % _EVERY_FOURTH == 0):
            yield at, Moment.HALFWAY


def chosen(calls: tuple[str, ...], *, every: int, repeats: int = 1) -> Iterator[int]:
    """The numbers of the writes that are struck."""
    for at, call in enumerate(calls, 1):
        if at % repeats and _ENDS < at <= len(calls) - _ENDS:
            continue
        is_end = at in (1, len(calls)) or calls[at - 2] != call or calls[at] != call
        if is_end or at % every == 0:
            yield at


def draw(kind: Sequence[Any], seed: str) -> list[Any]:
    """A few of them, the same ones each time."""
    return random.Random(seed).sample(kind, SAMPLE)  # noqa: S311


def _by_kind(calls: tuple[str, ...]) -> list[list[tuple[int, Moment]]]:
    """Strikes at the store's files, and at all others."""
    found: list[list[tuple[int, Moment]]] = [[], []]
    for at, moment in strikes(calls):
        found[".sqlite" in calls[at - 1]].append((at, moment))
    return found


def without_room(struck: Bench, call: str, *, which: int) -> Ran:
    """Run the command on a disk that is full from one of the calls on that begin so."""
    found = [at for at, told in enumerate(struck.calls, 1) if told.startswith(call)]
    root = struck.base.copy("struck")
    plan = Plan(at=found[which], error=errno.ENOSPC, below=str(root))
    return struck.run(root, struck.scenario.command, plan)


class TestKilled:
    @pytest.mark.parametrize("name", SAMPLED)
    def test_at_some_of_its_writes(self, name, bench, tried):
        struck = bench(name)
        drawn = [strike for kind in _by_kind(struck.calls) for strike in draw(kind, name)]

        faults = [fault for at, moment in drawn for fault in struck.kill(at, moment)]

        tried["kills"] += len(drawn)
        assert not faults, "\n".join(faults)

    @pytest.mark.soak
    @pytest.mark.parametrize("name", BY_NAME)
    def test_at_each_of_its_writes(self, name, bench, tried):
        struck = bench(name)
        faults = []

        scenario = struck.scenario
        for at, moment in strikes(struck.calls, every=scenario.every, repeats=scenario.repeats):
            faults += struck.kill(at, moment)
            tried[f"kills: {name}, {len(struck.calls)} writes"] += 1
        tried[f"kills and refusals: {name}, aftermaths that differ"] = len(struck.judged)

        assert not faults, "\n".join(faults)


@pytest.mark.skipif(not can_change_calls(), reason="not known for this processor")
class TestRefused:
    """The disk refuses from a write on: full (ENOSPC), or broken (EIO)."""

    def test_a_store_that_cannot_be_made_is_refused_by_name(self, bench, tried):
        struck = bench("first-store")
        published = next(at for at, call in enumerate(struck.calls) if call.startswith("rename"))

        # At the first table of all, and among the others.
        faults = struck.refuse(1, errno.ENOSPC) + struck.refuse(published * 2 // 3, errno.ENOSPC)

        tried["writes refused from there on"] += 2
        assert not faults, "\n".join(faults)

    def test_a_mended_note_without_room_fails_and_is_shown(self, bench, tried):
        struck = bench("mend")
        root = struck.base.copy("struck")
        plan = Plan(at=1, error=errno.ENOSPC, below=str(root / "kb" / "notes"))
        refused = struck.run(root, struck.scenario.command, plan)

        tried["writes refused from there on"] += 1
        fix = json.loads(refused.out)["fixes"][-1]
        assert (refused.exit, fix["outcome"]) == (1, "failed")
        assert "No space left" in fix["reason"]
        assert "+The text, mended, of note 1." in fix["diff"]

    def test_jobs_without_room_for_new_ones_failed_and_moved_nowhere(self, bench, tried):
        refused = without_room(bench("recover-many-replace"), "mkdir .review-job", which=0)

        tried["writes refused from there on"] += 1
        answer = json.loads(refused.out)
        assert (refused.exit, answer["done"]) == (1, [])
        assert {job["code"] for job in answer["refused"]} == {"artifact-not-written"}

    def test_at_one_of_its_writes(self, bench, tried):
        struck = bench("ingest")
        (at,) = draw(range(1, len(struck.calls)), "ingest")

        faults = struck.refuse(at, errno.EIO)

        tried["writes refused from there on"] += 1
        assert not faults, "\n".join(faults)

    @pytest.mark.soak
    @pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
    @pytest.mark.parametrize("name", BY_NAME)
    def test_at_each_of_its_writes(self, name, error, bench, tried):
        struck = bench(name)
        faults = []

        # A transaction that is refused one of its pages is refused, whichever it is.
        every = max(struck.scenario.every, _EVERY_FOURTH)
        for at in chosen(struck.calls, every=every, repeats=struck.scenario.repeats):
            faults += struck.refuse(at, error)
            tried[f"refused ({errno.errorcode[error]}): {name}"] += 1
        tried[f"kills and refusals: {name}, aftermaths that differ"] = len(struck.judged)

        assert not faults, "\n".join(faults)
