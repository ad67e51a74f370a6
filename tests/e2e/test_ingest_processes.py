"""Ingest by real processes: raced by another, killed in the middle, cut off by a closed pipe."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.builders import make_gate, make_root, make_selection
from tests.helpers.commands import REPOSITORY, process_environment, shared_store
from tests.helpers.forked import run_forked

pytestmark = pytest.mark.django_db(transaction=True)

GATES = ("prose/x", "prose/y")
JOBS = 12
REVIEW = "### Findings\n- WARN: it is bare\n  > A reader finds a note\n\n## Result: WARN"


@pytest.fixture
def base(tmp_path):
    notes = {f"n{number}.md": f"# N{number}\n\nA reader finds a note.\n" for number in range(JOBS)}
    return make_root(tmp_path, notes=notes, gates={name: make_gate(name) for name in GATES})


@pytest.fixture
def jobs(base):
    pairs = [(f"n{number}.md", gate) for number in range(JOBS) for gate in GATES]
    created = command(
        base,
        "create_review_jobs",
        "--input",
        "-",
        "--grouping",
        "note",
        stdin=make_selection(*pairs),
    )
    for job in created["jobs"]:
        prompt = (base / job["prompt_path"]).read_text()
        token = prompt.rpartition("token of this job is ")[2][:8]
        (base / job["bundle_output_path"]).write_text(output_of(job, token))
    return created["jobs"]


def output_of(job, token):
    blocks = []
    for pair in job["pairs"]:
        names = f"{token}/{pair['ordinal']}: {pair['note_path']} :: {pair['gate_id']} ==="
        blocks.append(f"=== PAIR REVIEW START {names}\n{REVIEW}\n=== PAIR REVIEW END {names}\n")
    return "\n".join(blocks)


def command(base, *arguments, stdin=None):
    done = run_forked(*arguments, "--json", root=base, stdin=stdin, env=shared_store())
    assert done.out, done.err
    return done.json


def ids(jobs):
    return [job["review_job_id"] for job in jobs]


def state(base):
    """What the store says of every pair, and how many entries the queue has."""
    listed = command(base, "review_job_list")["jobs"]
    queue = command(base, "warn_selector")["entries"]
    return listed, queue


class TestTwoAtOnce:
    def test_one_wins_and_the_other_is_told(self, base, jobs):
        def ingest(_number):
            return command(base, "ingest_bundle_output", "--review-job-id", *ids(jobs))

        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(ingest, range(3)))

        done = [job["review_job_id"] for answer in answers for job in answer["jobs"]]
        told = [item for answer in answers for item in answer["refused"]]
        assert sorted(done) == ids(jobs)
        assert len(told) == 2 * len(jobs)
        assert {item["exit"] for item in told} == {4}
        listed, queue = state(base)
        assert {job["status"] for job in listed} == {"completed"}
        assert len(queue) == JOBS * len(GATES)
        assert {len(entry["findings"]) for entry in queue} == {1}


class TestKilled:
    def test_a_second_run_finishes_what_a_killed_one_began(self, base, jobs):
        argv = [
            sys.executable,
            str(REPOSITORY / "manage.py"),
            "ingest_bundle_output",
            "--review-job-id",
            *map(str, ids(jobs)),
        ]
        killed = 0
        # A few moments of the clock; tests/crash kills it at each of its system calls.
        for attempt in range(4):
            process = subprocess.Popen(
                argv,
                cwd=base,
                env=process_environment(base) | shared_store(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(0.1 * (attempt + 1))
            process.send_signal(signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
            listed, _queue = state(base)
            for job in listed:
                decided = {pair["decision"] for pair in job["pairs"]}
                assert decided == ({"warn"} if job["status"] == "completed" else {None})

        command(base, "ingest_bundle_output", "--review-job-id", *ids(jobs))

        assert killed
        listed, queue = state(base)
        assert {job["status"] for job in listed} == {"completed"}
        assert len(queue) == JOBS * len(GATES)
        assert {len(entry["findings"]) for entry in queue} == {1}


class TestAClosedPipe:
    def test_ends_quietly_with_141(self, base):
        argv = [sys.executable, str(REPOSITORY / "manage.py"), "review_target_selector"]
        with subprocess.Popen(
            [*argv, "--all-gates", "--json"],
            cwd=base,
            env=process_environment(base) | shared_store(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            process.stdout.close()
            errors = process.stderr.read().decode()

        assert process.returncode == 141
        assert errors == ""


class TestReading:
    def test_selecting_twice_gives_the_same_bytes_and_touches_no_note(self, base, jobs):
        notes = sorted((base / "kb").rglob("*.md"))
        before = [(path, path.stat().st_mtime_ns) for path in notes]
        arguments = (
            "review_target_selector",
            "--all-gates",
            "--model",
            "claude-opus-4-6",
            "--json",
        )

        first = run_forked(*arguments, root=base, env=shared_store())
        second = run_forked(*arguments, "--no-cache", root=base, env=shared_store())

        assert first.out == second.out
        assert json.loads(first.out)["counts"]["in-flight"] == JOBS * len(GATES)
        assert [(path, path.stat().st_mtime_ns) for path in notes] == before
