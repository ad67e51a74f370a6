"""The doctor reads in batches: a fault is named in whichever it lies, and no other is."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.db.models.functions import Upper

from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    JobEvent,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewText,
)
from tests.builders import NOW
from tests.helpers.doctor_batches import (
    FAULTY,
    FAULTY_PAIRS,
    GATES,
    JOBS,
    OF_PAIRS,
    details,
    faulty_pairs,
    make_batches_small,
    queue_seven,
    result,
    review_in_part,
    review_seven,
    seven_by_two,
)
from tests.helpers.doctoring import examine


class _Undo(Exception):
    """Takes back what was broken."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    make_batches_small(monkeypatch)


@pytest.fixture
def root(tmp_path, monkeypatch):
    return seven_by_two(tmp_path, monkeypatch)


@pytest.fixture
def queued(root, db):
    return queue_seven(root)


@pytest.fixture
def reviewed(root, db):
    return review_seven(root)


@pytest.fixture
def in_part(root, db):
    return review_in_part(root)


def test_without_a_fault_none_is_named(reviewed):
    for args in ((), ("--check",)):
        code, checks = examine(*args)
        assert code == 0
        wrong = {name for name, check in checks.items() if check["state"] != "ok"}
        assert wrong <= {"bytecode"}


class TestRows:
    def test_a_text_that_is_lost(self, reviewed):
        faulty = faulty_pairs()
        ReviewText.objects.filter(pair_id__in=faulty).delete()

        state, said = details("pairs")

        assert state == "problem"
        assert said == [
            f"pair {pair} of job {job} is completed and has no text; its result file is"
            f" kb/reports/bundle-reviews/review-job-{job}/{result(reviewed, job, gate).name}"
            for pair, (job, gate) in zip(faulty, OF_PAIRS, strict=True)
        ]

    def test_a_pair_that_waits_in_a_completed_job(self, queued):
        ReviewJob.objects.filter(pk__in=FAULTY).update(status="completed", completed_at=NOW)

        state, said = details("pairs")

        assert state == "problem"
        pairs = ReviewPair.objects.filter(job_id__in=FAULTY).values_list("pk", "job_id")
        named = {f"pair {pair} is pending, but its job {job} is completed" for pair, job in pairs}
        assert len(named) == 6
        assert set(said) == named

    def test_a_job_that_lost_a_pair(self, queued):
        ReviewJob.objects.filter(pk__in=FAULTY).update(pair_count=3)

        state, said = details("pairs")

        assert state == "problem"
        assert set(said) == {f"job {job} was made with 3 pairs and has 2" for job in FAULTY}

    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param({"text": Upper("text")}, id="text"),
            pytest.param({"byte_size": 1}, id="size"),
        ],
    )
    def test_a_kept_text_that_was_altered(self, reviewed, wrong):
        keys = list(FileSnapshot.objects.order_by("pk").values_list("pk", flat=True))
        assert len(keys) == len(JOBS) + len(GATES)
        altered = (keys[0], keys[4], keys[-1])
        FileSnapshot.objects.filter(pk__in=altered).update(**wrong)

        state, said = details("snapshots")
        thorough, hashed = details("snapshots-have-their-digests", "--check")

        assert state == thorough == "problem"
        assert [line.partition(" of ")[0] for line in said] == [f"snapshot {n}" for n in altered]
        assert hashed == said

    def test_whatever_was_altered_is_counted(self, in_part):
        FileSnapshot.objects.update(text=Upper("text"))
        JobOutput.objects.update(content_sha256=Upper("content_sha256"))

        checks = examine("--check")[1]

        assert checks["snapshots-have-their-digests"]["message"] == "9 rows break it"
        assert checks["raw-outputs-have-their-digests"]["message"] == "7 rows break it"
        assert len(details("snapshots")[1]) == 9

    def test_a_kept_output_that_was_altered(self, in_part):
        keys = list(JobOutput.objects.order_by("pk").values_list("pk", flat=True))
        altered = [keys[job - 1] for job in FAULTY]
        JobOutput.objects.filter(pk__in=altered).update(raw=b"other")

        state, hashed = details("raw-outputs-have-their-digests", "--check")

        assert state == "problem"
        told = [line.partition(" has ")[0] for line in hashed]
        assert told == [f"output {key}" for key in altered]

    @pytest.mark.parametrize("way", ["missing", "unlike"])
    def test_a_current_acceptance_is_named_and_made_again(self, reviewed, way):
        rows = CurrentAcceptance.objects.order_by("event_id")
        expected = list(rows.values_list("note_id", "gate_id", "event_id", "decision"))
        assert len(expected) == 2 * len(JOBS)
        wrong = {expected[pair - 1][2]: expected[pair - 1][:2] for pair in FAULTY_PAIRS}
        faulty = CurrentAcceptance.objects.filter(event_id__in=wrong)
        if way == "missing":
            faulty.delete()
        else:
            faulty.update(decision="pass")

        state, said = details("current-acceptances")
        repaired = examine("--repair")[1]["current-acceptances"]

        assert state == "problem"
        assert {tuple(line.split(",")[:2]) for line in said} == {
            (f"note {note}", f" gate {gate}") for note, gate in wrong.values()
        }
        assert repaired["message"] == "3 were made again from the events"
        assert list(rows.values_list("note_id", "gate_id", "event_id", "decision")) == expected

    @pytest.mark.parametrize("way", ["missing", "unlike"])
    def test_all_current_acceptances_are_made_again(self, reviewed, way):
        if way == "missing":
            CurrentAcceptance.objects.all().delete()
        else:
            CurrentAcceptance.objects.update(decision="pass")

        repaired = examine("--repair")[1]["current-acceptances"]

        assert repaired["message"] == "14 were made again from the events"
        assert details("current-acceptances") == ("ok", [])

    def test_an_invariant_counts_every_row_that_breaks_it(self, queued):
        ReviewJob.objects.update(pair_count=3)

        check = examine("--check")[1]["jobs-have-the-pairs-they-were-made-with"]

        assert check["message"] == "7 rows break it"
        assert check["details"][:2] == [
            f"job {job} was made with 3 pairs and has 2" for job in (1, 2)
        ]

    @pytest.mark.sqlite
    def test_a_reference_to_nothing(self, queued):
        with suppress(_Undo), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("UPDATE review_job_events SET job_id = job_id + 100")
            found = details("integrity")
            raise _Undo

        state, said = found
        assert state == "problem"
        assert said == [
            f"review_job_events row {event} refers to a row of review_jobs that is not there"
            for event in JobEvent.objects.order_by("pk").values_list("pk", flat=True)
        ]
