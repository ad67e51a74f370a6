"""Processes that are killed while they send or collect a batch: nothing is paid or taken in twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.builders import PARTITION, make_gate, make_root
from tests.helpers.commands import process_environment
from tests.helpers.forked import Forked, run_forked
from tests.helpers.providers import KEY, playing_providers, settings_of
from tests.helpers.sweeping import wait_for

pytestmark = pytest.mark.own_stores

SWEEP = (
    "review_sweep",
    "--all-gates",
    "--runner",
    "api",
    "--model",
    PARTITION,
    "--batch",
    "--json",
)
COLLECT = ("review_batches", "--collect", "--json")
NOTES = 40


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_batch_survives_the_death_of_who_sends_it_and_of_who_collects_it(tmp_path, kind):
    with playing_providers() as playing:
        playing.delay = 2.0
        root = make_root(
            tmp_path,
            notes={f"n{n}.md": f"# Note {n}\n\nText {n}.\n" for n in range(NOTES)},
            gates={"prose/x": make_gate("prose/x")},
            settings=settings_of(playing.url, kind),
        )
        env = {"TEST_API_KEY": KEY}
        store = process_environment(root)["COMMONPLACE_REVIEW_DB"]

        sending = Forked(SWEEP, root=root, env=process_environment(root) | env)
        wait_for(lambda: playing.batches)  # the provider has it, and has not said so
        sending.kill()
        sending.wait()
        playing.delay = 0.0
        playing.end_batches()
        again = run_forked(*SWEEP, root=root, env=env)
        collecting = Forked(COLLECT, root=root, env=process_environment(root) | env)
        wait_for(lambda: count(store, "review_jobs WHERE status = 'completed'") > 2)
        collecting.kill()
        collecting.wait()
        before = count(store, "review_jobs WHERE status = 'completed'")
        collected = run_forked(*COLLECT, root=root, env=env)

        assert (again.exit, len(playing.batches), len(playing.asked)) == (0, 1, NOTES)
        assert 2 < before < NOTES
        assert collected.json["batches"][0]["closed"] == {"completed": NOTES - before}
        assert count(store, "review_jobs") == count(store, "acceptance_events") == NOTES


def count(store, what):
    """How many rows there are."""
    with closing(sqlite3.connect(store)) as found:
        return found.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0]  # noqa: S608
