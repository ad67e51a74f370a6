"""Acks and ingests in processes that run at the same time, on one store."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.builders import NOTE, PARTITION, make_root, make_selection, note_path, write_note
from tests.helpers.commands import REPOSITORY, process_environment, shared_store
from tests.helpers.forked import run_forked
from tests.helpers.workers import write_worker_output

pytestmark = pytest.mark.django_db(transaction=True)
EDITED = NOTE + "\nOne more line.\n"
ACK = ("ack_gate_review", "--model", PARTITION, note_path("a.md"), "prose/x", "--json")


class Site:
    """A knowledge base and its store, used by processes only."""

    def __init__(self, root):
        self.root = make_root(root)
        self.env = shared_store()

    def run(self, *args, **kwargs):
        done = run_forked(*args, root=self.root, env=self.env, **kwargs)
        assert done.exit == 0, done.err
        return done

    def run_together(self, *commands):
        """The documents of commands that were started at the same moment."""
        running = [
            subprocess.Popen(
                [sys.executable, str(REPOSITORY / "manage.py"), *map(str, command)],
                cwd=self.root,
                env=process_environment(self.root) | self.env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for command in commands
        ]
        answers = [process.communicate(timeout=60) for process in running]
        assert [process.returncode for process in running] == [0] * len(commands), answers
        return [json.loads(out) for out, _err in answers]

    def make_job(self):
        """A job whose worker is done, from the note as it is now."""
        selection = make_selection(("a.md", "prose/x"))
        created = self.run(
            "create_review_jobs", "--input", "-", "--grouping", "note", "--json", stdin=selection
        )
        (job,) = created.json["jobs"]
        write_worker_output(self.root, job)
        return job["review_job_id"]

    def counts(self):
        selected = self.run("review_target_selector", "--all-gates", "--model", PARTITION, "--json")
        return selected.json["counts"]


@pytest.fixture
def site(tmp_path):
    """A site with one note that was edited after its review."""
    found = Site(tmp_path)
    found.run("ingest_bundle_output", "--review-job-id", found.make_job())
    write_note(found.root, "a.md", EDITED)
    return found


class TestAtTheSameMoment:
    def test_of_several_acks_one_moves_the_acceptance(self, site):
        answers = site.run_together(ACK, ACK, ACK)

        assert sum(len(answer["acked"]) for answer in answers) == 1
        assert sum(len(answer["already_fresh"]) for answer in answers) == 2
        assert site.counts()["fresh"] == 1

    def test_an_ack_never_hides_the_review_of_the_same_text(self, site):
        job_id = site.make_job()

        _acked, ingested = site.run_together(
            ACK, ("ingest_bundle_output", "--review-job-id", job_id, "--json")
        )

        (pair,) = ingested["jobs"][0]["pairs"]
        entries = site.run("warn_selector", "--json").json["entries"]
        assert (pair["accepted"], pair["decision"]) == (True, "warn")
        assert [entry["review_pair_id"] for entry in entries] == [pair["review_pair_id"]]
        assert site.counts()["fresh"] == 1
