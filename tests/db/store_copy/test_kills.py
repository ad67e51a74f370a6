"""Copies that are killed for real, at every step that writes: gone on with, they end as if unkilled."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from review import store
from review.queries.invariants import broken_invariants
from review.store.elsewhere import attached
from review.store.unfinished import StoreUnfinished
from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.copied_stores import change, cloned, copy, grow, rows

pytestmark = pytest.mark.django_db
EVERY_STEP = 10**6
some_or_all = pytest.mark.parametrize(
    "kills",
    [
        pytest.param(4, id="some"),
        pytest.param(EVERY_STEP, id="all", marks=pytest.mark.soak),
    ],
)
SEED = 20260131


def begin(source, target, step, *, root: Path):
    """Copy in a process of its own that is killed at a step; -1 is none. Its answer, or the signal."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed_copier", str(source), str(target), str(step)],
        cwd=root, capture_output=True, text=True, check=False, timeout=300,
        env=process_environment(root) | {"PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return int(done.stdout) if done.returncode == 0 else None


def chosen(steps: int, kills: int) -> list[int]:
    """Steps to be killed at: the first, the last, and others by chance, in order."""
    if steps <= kills:
        return list(range(steps))
    some = random.Random(SEED).sample(range(1, steps - 1), kills - 2)  # noqa: S311
    return [0, *sorted(some), steps - 1]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "kb").mkdir()
    return tmp_path


class TestKilled:
    @some_or_all
    def test_a_copy_goes_on_where_it_was(self, kills, filled, empty_place, root, tmp_path):
        wanted = rows(filled)
        with cloned(empty_place, tmp_path) as target:
            steps = begin(filled, target, -1, root=root)
        kept = 0

        for step in chosen(steps, kills):
            with cloned(empty_place, tmp_path) as target:
                assert begin(filled, target, step, root=root) is None
                kept += refuses_others(target)

                done = copy(filled, target, "--json")

                assert done.exit == 0, (step, done.err)
                added = sum(table["added"] for table in done.json["tables"][:-1])
                assert same(rows(target), wanted), step
                assert added <= sum(map(len, wanted.values()))
                assert broken(target) == broken(filled)
        assert kept

    @some_or_all
    def test_a_catching_up_goes_on_where_it_was(self, kills, filled, copied_place, root, tmp_path):
        source = shutil.copy(filled, tmp_path / "source.sqlite")
        grow(source, seed=2)
        change(source, "UPDATE review_pairs SET problem = 'late' WHERE id < 9")
        change(source, "UPDATE review_current_acceptances SET id = 1000 - id")
        wanted = rows(source)
        with cloned(copied_place, tmp_path) as target:
            steps = begin(source, target, -1, root=root)

        for step in chosen(steps, kills):
            with cloned(copied_place, tmp_path) as target:
                assert begin(source, target, step, root=root) is None

                done = copy(source, target)

                assert done.exit == 0, (step, done.err)
                assert same(rows(target), wanted), step
                assert broken(target) == broken(source)

    def test_what_was_written_between_the_tries_arrives(self, filled, empty_place, root, tmp_path):
        source = shutil.copy(filled, tmp_path / "source.sqlite")
        with cloned(empty_place, tmp_path) as target:
            begin(source, target, 60, root=root)
            grow(source, seed=3)
            change(source, "UPDATE review_pairs SET problem = 'late' WHERE id = 1")

            done = copy(source, target)

            assert done.exit == 0, done.err
            assert same(rows(target), rows(source))


def same(there, wanted):
    """JSON aside, which each database writes in its own way."""
    return all(
        there[name] == wanted[name]
        or (name == "review_jobs" and len(there[name]) == len(wanted[name]))
        for name in wanted
    )


def refuses_others(target):
    """Whether a command would keep away from the target."""
    with attached("others", str(target), named="the test"):
        try:
            store.ensure_store(write=False, using="others")
        except StoreUnfinished:
            return True
    return False


def broken(place):
    """Which invariants do not hold in a store that a command can use."""
    with attached("others", str(place), named="the test"):
        store.ensure_store(write=True, using="others")
        return broken_invariants(using="others")
