"""Writers take turns: how much one turn holds, and what a server's refusals come to."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction

from review.jobs.create import JobFactory
from review.knowledge_base.resolver import Linker
from review.models import Ending, Provenance, ReviewJob, ReviewPair, ReviewStore
from review.upkeep.checks import broken_invariants
from review.vocabulary import JobStatus
from tests.builders import NOTE, NOW, make_jobs, make_root
from tests.helpers.commands import REPOSITORY, Result, process_environment, shared_store
from tests.helpers.workers import write_worker_output

pytestmark = pytest.mark.django_db(transaction=True)
# A guard against hanging only.
HANG = 120


MOVES: dict[str, Callable[[ReviewJob], object]] = {
    "claim": lambda job: ReviewJob.objects.claim(
        job.pk, provenance=Provenance("r"), claimed_by="agent:a", now=NOW
    ),
    "close": lambda job: ReviewJob.objects.close(
        [job], leaving=JobStatus.QUEUED, ending=Ending(JobStatus.COMPLETED), now=NOW
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


class TestALongCreation:
    """What takes time with large notes is done before a turn, and a turn holds few of them."""

    def turns(self, tmp_path, monkeypatch, *, notes):
        """How many drafts each turn made, after checking that it began with the store let go."""
        root = make_root(tmp_path, notes={f"n{number:03d}.md": NOTE for number in range(notes)})
        turns = []
        real = JobFactory.create

        def create(factory: JobFactory, groups: Any, **how: Any) -> Any:
            turns.append((len(groups), connection.in_atomic_block))
            return real(factory, groups, **how)

        monkeypatch.setattr(JobFactory, "create", create)

        jobs = make_jobs(root, *((f"n{number:03d}.md", "prose/x") for number in range(notes)))

        assert len(jobs) == notes
        assert not any(held for _drafts, held in turns)
        return [drafts for drafts, _held in turns]

    def test_holds_the_store_for_fifty_jobs_at_a_time(self, tmp_path, monkeypatch):
        assert self.turns(tmp_path, monkeypatch, notes=120) == [50, 50, 20]

    def test_reads_no_links_while_it_holds_it(self, tmp_path, monkeypatch):
        resolved = []
        real = Linker.table

        def table(linker: Linker, *args: Any) -> Any:
            resolved.append(connection.in_atomic_block)
            return real(linker, *args)

        monkeypatch.setattr(Linker, "table", table)

        self.turns(tmp_path, monkeypatch, notes=5)

        assert set(resolved) == {False}


@contextmanager
def started(root: Path, *words: object, options: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process of its own, with options for its session on the server."""
    store = {key: f"{url}&options={options}" for key, url in shared_store().items()}
    argv = [sys.executable, str(REPOSITORY / "manage.py"), *map(str, words), "--json"]
    env = process_environment(root) | store
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=root, env=env, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[bytes]) -> Result:
    out, err = process.communicate(timeout=HANG)
    return Result(process.returncode, out.decode(), err.decode())


def wait_until_it_waits() -> None:
    """Until some session waits for a lock of another."""
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone() != (0,):
                return
        time.sleep(0.02)
    raise AssertionError("nobody waits")


@pytest.mark.postgresql
class TestOnAServer:
    @pytest.fixture
    def job(self, root) -> int:
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        shown = {"prompt_path": job.prompt_path, "bundle_output_path": job.bundle_output_path,
                 "pair_count": 1}  # fmt: skip
        write_worker_output(root, shown)
        return job.review_job_id

    def check_refused(self, done: Result) -> None:
        assert done.exit == 75, done
        assert "Traceback" not in done.err
        assert json.loads(done.err)["code"] == "store-busy"
        assert json.loads(done.err)["hint"] == "run the same command again"
        assert not ReviewPair.objects.completed().exists()
        assert ReviewJob.objects.get().status == JobStatus.QUEUED
        assert broken_invariants() == ()

    def test_who_waits_too_long_is_told_to_try_again(self, root, job):
        with transaction.atomic():
            ReviewStore.objects.take_turn()
            ingest = ("ingest_bundle_output", "--review-job-id", job)
            with started(root, *ingest, options="-c%20lock_timeout%3D200") as process:
                done = ended(process)

        self.check_refused(done)

    def test_of_two_who_wait_for_each_other_one_is_told_to_try_again(self, root, job):
        ingest = ("ingest_bundle_output", "--review-job-id", job)
        with connection.cursor() as cursor:
            # Whoever else is in it gives way: this session looks for no deadlock while it waits.
            cursor.execute("SET deadlock_timeout = '100s'")
        try:
            with transaction.atomic():
                ReviewStore.objects.take_turn()
                options = "-c%20deadlock_timeout%3D500"
                with started(root, *ingest, options=options) as process:
                    wait_until_it_waits()
                    ReviewJob.objects.filter(pk=job).update(lens="prose")
                    done = ended(process)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET deadlock_timeout")

        self.check_refused(done)
        with started(root, *ingest) as process:
            again = ended(process)
        assert again.exit == 0, again
        assert ReviewJob.objects.get().status == JobStatus.COMPLETED


@pytest.mark.postgresql
class TestAMove:
    """Of two transactions that move one row the second waits, looks again, and is refused."""

    @pytest.fixture
    def job(self, root) -> ReviewJob:
        (made,) = make_jobs(root, ("a.md", "prose/x"))
        return ReviewJob.objects.get(pk=made.review_job_id)

    @pytest.mark.parametrize("first", MOVES, ids=list(MOVES))
    @pytest.mark.parametrize("second", MOVES, ids=list(MOVES))
    def test_leaves_a_state_once(self, job, first, second):
        answers: list[object] = []

        def other() -> None:
            answers.append(MOVES[second](ReviewJob.objects.get(pk=job.pk)))
            connection.close()

        with transaction.atomic():
            assert MOVES[first](job)
            thread = threading.Thread(target=other)
            thread.start()
            wait_until_it_waits()
        thread.join(HANG)

        assert [bool(answer) for answer in answers] == [False]
