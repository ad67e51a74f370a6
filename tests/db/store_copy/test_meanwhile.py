"""What others do while a store is copied, and what a copy leaves that is stopped."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import pytest
from django.db import connections

from review.errors import TryAgain
from review.store_copy.copy import TARGET, copy_store
from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.copied_stores import copy, grow, rows
from tests.helpers.refusals import refuses

pytestmark = pytest.mark.django_db

# Copies, and kills itself when it has reported a number of steps; says how many there were.
KILLED = """
import os, signal, sys
from commonplace_site.loading import CLI_SETTINGS, load_apps
load_apps(CLI_SETTINGS)
from review.store_copy import copy as copying
source, target, fatal = sys.argv[1:]
copying._ROWS_AT_ONCE = 9
steps = []
def report(*step):
    if len(steps) == int(fatal):
        os.kill(os.getpid(), signal.SIGKILL)
    steps.append(step)
copying.copy_store(source, target, report=report)
print(len(steps))
"""


def copy_with(source, target, act, *, doing="copying", table="review_pairs"):
    """Copy, and do `act` when a table's turn has come."""
    waiting = [act]

    def report(what, which, _rows):
        if waiting and (what, which) == (doing, table):
            waiting.pop()()

    done = copy_store(str(source), str(target), report=report)
    assert not waiting
    return done


class TestMeanwhile:
    def test_the_source_is_copied_as_it_was_at_the_start(self, source, target):
        before = rows(source)

        copy_with(source, target, lambda: grow(source, seed=2))

        assert rows(target) == before

    def test_what_does_not_arrive_as_it_was_sent_is_not_kept(self, source, target):
        before = rows(target)

        def spoil():
            with connections[TARGET].cursor() as cursor:
                cursor.execute("INSERT INTO review_paths (id, path) VALUES (77, 'kb/mine.md')")

        with refuses("copy-not-verified", match="review_paths"):
            copy_with(source, target, spoil, table="review_paths")

        assert rows(target) == before


class TestKilled:
    @pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.99])
    def test_a_copy_leaves_an_empty_target_and_succeeds_when_run_again(
        self, source, target, tmp_path, share
    ):
        (tmp_path / "kb").mkdir()
        empty, steps = rows(target), self.steps(source)

        died = self.start(source, target, int(steps * share), root=tmp_path)

        assert died.returncode == -9, died.stderr
        assert rows(target) == empty
        assert copy(source, target).exit == 0
        assert rows(target) == rows(source)

    def start(self, source, target, fatal, *, root):
        return subprocess.run(
            [sys.executable, "-c", KILLED, str(source), str(target), str(fatal)],
            cwd=root, capture_output=True, text=True, check=False, timeout=300,
            env=process_environment(root) | {"PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip

    def steps(self, source):
        """How often a whole copy reports."""
        return sum(2 * -(-len(table) // 9) for table in rows(source).values())


@pytest.mark.postgresql
class TestServer:
    def test_a_connection_that_is_lost_leaves_the_target_empty(self, source, target):
        def lose():
            with psycopg.connect(target, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

        with pytest.raises(TryAgain):
            copy_with(source, target, lose)

        done = copy(source, target, "--json")
        assert (done.exit, done.json["target_was"]) == (0, "empty")
        assert rows(target) == rows(source)

    def test_from_one_server_to_itself(self, copied, target):
        done = copy(copied, target, "--json")

        assert done.exit == 0, done.err
        assert rows(target) == rows(copied)
        assert TARGET not in done.out
