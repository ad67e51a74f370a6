"""Sweeps that are killed, hard, at random moments: nothing is reviewed twice, and no review is lost.

The suite does it a few times with a small base. `make soak` does it fifty times with 200 jobs:
COMMONPLACE_TEST_KILLS says how often.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import time
from contextlib import closing

from tests.helpers.scripted import is_running, make_scripted, note
from tests.helpers.sweeping import SWEEP, command, reviewed, start, sweep, wait_for

SEED = 20260131
KILLS = int(os.environ.get("COMMONPLACE_TEST_KILLS", "4"))
NOTES = 4 * KILLS
GATES = ("prose/x", "prose/y")
SECONDS_A_RUN = 0.4
MOST_RUNS = 3  # that begin before a sweep is killed, of the four that it has at once
BLOCK = re.compile(
    r"=== PAIR REVIEW START ([0-9a-f]{8})/(\d+): .*? ===\n(.*)\n=== PAIR REVIEW END", re.S
)


def kill_a_sweep(base, moments):
    """Start a sweep and kill it at a random point of its work; whether it was still at work."""
    runs = base.calls().total() + moments.randint(0, MOST_RUNS)
    process = start(base, *SWEEP)
    wait_for(lambda: base.calls().total() >= runs or process.poll() is not None, seconds=120)
    # Within the time of a run: from its start to what is stored of the first that ended.
    time.sleep(moments.uniform(0, SECONDS_A_RUN))
    was_at_work = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return was_at_work


def stored_texts(base):
    """Token, ordinal and text of every review in the store."""
    path = base.root / "kb/reports/review-store.sqlite"
    with closing(sqlite3.connect(path)) as store:
        rows = store.execute(
            "SELECT j.sentinel_token, p.ordinal, t.text FROM review_texts t"
            " JOIN review_pairs p ON p.id = t.pair_id JOIN review_jobs j ON j.id = p.job_id"
        )
        return {(token, ordinal, text.strip()) for token, ordinal, text in rows}


def written_texts(base):
    """The same of every block that a runner has written whole."""
    matches = [BLOCK.search(block) for block in base.blocks()]
    return {(match[1], int(match[2]), match[3].strip()) for match in matches}


def test_after_kills_at_random_moments_every_pair_is_reviewed_once_and_no_review_is_lost(tmp_path):
    moments = random.Random(SEED)  # noqa: S311
    base = make_scripted(tmp_path, notes=NOTES, gates=GATES, seconds=SECONDS_A_RUN)

    at_work = sum(kill_a_sweep(base, moments) for _ in range(KILLS))
    done = sweep(base, timeout=900)

    # On a machine that stands still at the wrong moment one may have ended first.
    assert at_work >= KILLS / 2
    assert done.exit == 0
    assert reviewed(base) == [(note(n), gate) for n in range(NOTES) for gate in GATES]
    assert written_texts(base) <= stored_texts(base)
    assert command(base, "review_status", "--json").json["uncovered"] == 0
    assert command(base, "recover_review_jobs", "--json").json["abandoned"] == []
    doctor = command(base, "review_doctor", "--json")
    assert doctor.exit == 0, doctor.out
    assert not any(is_running(pid) for pid in base.pids())
