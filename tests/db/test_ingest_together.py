"""Jobs that are ingested together: the same is stored, told and written as one after the other."""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, IntegrityError, OperationalError, transaction

from review.documents.base import encode
from review.errors import ExitCode, ReviewError
from review.ingest import ingest as finalization
from review.ingest import load
from review.ingest.ingest import ingest_each, ingest_job, ingest_jobs
from review.ingest.load import IngestRequest
from review.jobs.claim import ClaimRequest, claim
from review.models import Acceptance, JobEvent, Provenance, ReviewJob
from review.recovery.close import fail_job
from review.runners.outcome import RunnerFailure
from review.upkeep.checks import broken_invariants
from review.vocabulary import FailureCode, JobStatus
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    PASS,
    make_config,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    write_note,
)
from tests.helpers.reviewed import UNDECIDED, WARN
from tests.helpers.stored import files_below, stored_rows

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(days=2)
NOTES = ("a.md", "b.md")
GATES = ("prose/x", "prose/y", "prose/z")
OTHER = "gpt-5"
NOT_READ = "No access.\n\n## Result: ERROR"
# Of places that overlap: what a finding is called depends on which of them were reported before.
QUOTES = (
    "A reader finds a note",
    "finds a note by its title",
    "by its title, then by its links",
    "A reader finds a note by its title, then by its links",
)
WORDS = ("the claim has no source", "no source is named for the claim", "it is bare")


@dataclass
class History:
    """A store in which jobs wait for their ingest, and what is asked of it.

    :param given: outputs that do not stand in the job's own file.
    """

    root: Path
    dice: random.Random
    job_ids: list[int] = field(default_factory=list)
    given: dict[int, bytes] = field(default_factory=dict)

    def request_of(self, request: IngestRequest, job_id: int) -> IngestRequest:
        output = self.given.get(job_id)
        return request if output is None else replace(request, output=output)

    def request(self) -> IngestRequest:
        """How they are asked for: by no flags, or by some that may contradict."""
        dice = self.dice
        telemetry = dice.choice([*[None] * 6, {"model": PARTITION, "cost": 1}, {"model": OTHER}])
        provenance = dice.choice([*[None] * 3, Provenance("r"), Provenance("r", PARTITION)])
        failure = RunnerFailure(FailureCode.INTERRUPTED, "it was stopped")
        return IngestRequest(
            actor="agent:test",
            provenance=provenance,
            telemetry=telemetry,
            all_or_nothing=dice.random() < 0.2,
            failure=failure if dice.random() < 0.1 else None,
        )


def lay(root: Path, seed: int) -> History:
    """Some rounds of jobs for the same few pairs, of texts that were read at different times."""
    gates = {name: make_gate(name) for name in GATES}
    make_root(root, notes=dict.fromkeys(NOTES, NOTE), gates=gates)
    history = History(root, random.Random(seed))  # noqa: S311
    for number in range(history.dice.randint(2, 6)):
        lay_round(history, NOW + timedelta(hours=number))
    history.job_ids.append(9_999)
    history.dice.shuffle(history.job_ids)
    return history


def lay_round(history: History, now: Any) -> None:
    dice, root = history.dice, history.root
    for name in NOTES:
        if dice.random() < 0.4:
            write_note(root, name, f"{NOTE}\nOne sentence more, at {now}.\n")
    pairs = [(note, gate) for note in NOTES for gate in GATES if dice.random() < 0.7]
    jobs = make_jobs(
        root,
        *(pairs or [("a.md", "prose/x")]),
        now=now,
        force=True,
        model_partition=dice.choice([*[PARTITION] * 5, OTHER]),
    )
    for job in jobs:
        lay_job(history, job, now)


def lay_job(history: History, job: Any, now: Any) -> None:
    dice, job_id = history.dice, job.review_job_id
    config = make_config(history.root)
    if dice.random() < 0.4:
        request = ClaimRequest(actor="agent:c", provenance=Provenance("r"), job_id=job_id)
        claim(request, config=config, now=now)
    if dice.random() < 0.2:
        earlier = some_output(history, job, whole=0.1)
        request = IngestRequest(actor="agent:first", output=earlier)
        ingest_job(job_id, request=request, config=config, now=now)
    elif dice.random() < 0.15:
        leaving = JobStatus(ReviewJob.objects.get(pk=job_id).status)
        failure = RunnerFailure(FailureCode.RUNNER_ERROR, "it broke")
        fail_job(job_id, failure, actor="agent:c", leaving=leaving, config=config, now=now)
    if dice.random() < 0.95:
        output = some_output(history, job, whole=0.7)
        if dice.random() < 0.3:
            history.given[job_id] = output
        else:
            (history.root / job.bundle_output_path).write_bytes(output)
    history.job_ids.append(job_id)


def some_review(dice: random.Random) -> str:
    if dice.random() < 0.25:
        return dice.choice([PASS, UNDECIDED, NOT_READ])
    findings = [
        f"- {dice.choice(['WARN', 'INFO'])}: {dice.choice(WORDS)}\n  > {quote}"
        for quote in dice.sample(QUOTES, dice.randint(1, 3))
    ]
    result = dice.choice(["PASS", "WARN", "FAIL"])
    return "\n".join(["### Findings", *findings, f"\n## Result: {result}"])


def some_output(history: History, job: Any, *, whole: float) -> bytes:
    """An output with at least one block, or, seldom when it is to be whole, with none."""
    dice, count = history.dice, job.pair_count
    reviews = [some_review(dice) for _ in range(count)]
    only = [] if dice.random() < whole else dice.sample(range(1, count + 1), max(1, count - 1))
    output = make_output(job.review_job_id, *reviews, only=only)
    if dice.random() < 0.15:
        output = f"self-reported-model: {dice.choice([PARTITION, OTHER])}\n".encode() + output
    if whole > 0.5:
        strangers = [b"", b"Sorry.", output.replace(b"=== PAIR", b"> === PAIR"), output[:-40]]
        output = dice.choice([*[output] * 12, *strangers])
    return output


def one_by_one(job_ids, request_of, **how) -> dict:
    answers = {}
    for job_id in job_ids:
        try:
            answers[job_id] = ingest_job(job_id, request=request_of(job_id), **how)
        except ReviewError as error:
            answers[job_id] = error
    return answers


def outcome(ingest, history: History, request: IngestRequest, root: Path) -> dict[str, Any]:
    """What an ingest leaves and says in a copy of the base, with the store taken back afterwards."""
    shutil.copytree(history.root, root)
    with transaction.atomic():
        request_of = partial(history.request_of, request)
        answers = ingest(history.job_ids, request_of, config=make_config(root), now=LATER)
        found = {
            "answers": {
                job_id: (item.code, item.message) if isinstance(item, ReviewError) else encode(item)
                for job_id, item in answers.items()
            },
            "files": {
                re.sub(r"\.aside-\d+", ".aside", name): data
                for name, data in files_below(root).items()
            },
            "broken": broken_invariants(),
            **stored_rows(),
        }
        transaction.set_rollback(True)
    return found


def assert_the_same(history: History, folder: Path) -> None:
    request = history.request()

    alone = outcome(one_by_one, history, request, folder / "alone")
    together = outcome(ingest_each, history, request, folder / "together")

    assert alone["broken"] == ()
    for name, told in alone.items():
        assert together[name] == told, name


class TestAnyHistory:
    # With each of the last three, one more way to go wrong shows.
    @pytest.mark.parametrize("seed", [*range(12), 1003, 1014, 1028])
    def test_leaves_the_same_rows_and_files_and_says_the_same(self, tmp_path, seed):
        assert_the_same(lay(tmp_path / "base", seed), tmp_path)

    @pytest.mark.parametrize("limit", ["JOBS", "_PAIRS", "_BYTES"])
    def test_does_so_across_the_borders_of_transactions(self, tmp_path, monkeypatch, limit):
        at_most = 400 if limit == "_BYTES" else 3
        module = finalization if limit == "JOBS" else load
        monkeypatch.setattr(module, f"{limit}_PER_TRANSACTION", at_most)

        assert_the_same(lay(tmp_path / "base", 77), tmp_path)

    @pytest.mark.soak
    @pytest.mark.parametrize("seed", range(1_000, 1_300))
    def test_of_very_many_does_so(self, tmp_path, seed):
        assert_the_same(lay(tmp_path / "base", seed), tmp_path)


NAMES = tuple(f"n{number:02}.md" for number in range(30))


@pytest.fixture
def root(tmp_path):
    return make_root(tmp_path, notes=dict.fromkeys(NAMES, NOTE))


def written(root: Path, names: Any = NAMES, **how: Any) -> list[int]:
    """Jobs of one pair each, whose outputs wait."""
    jobs = make_jobs(root, *((name, "prose/x") for name in names), **how)
    for job in jobs:
        (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id, WARN))
    return [job.review_job_id for job in jobs]


def take(root: Path, job_ids: list[int]) -> tuple[list, list]:
    request = IngestRequest(actor="agent:test")
    return ingest_jobs(job_ids, request=request, config=make_config(root), now=LATER)


def done(told: tuple[list, list]) -> list[int]:
    return [job.review_job_id for job in told[0]]


class TestAJobThatSomebodyElseTakes:
    def test_is_refused_alone(self, root, monkeypatch):
        first, second, third = written(root, NAMES[:3])

        def other():
            request = IngestRequest(actor="agent:first")
            ingest_job(second, request=request, config=make_config(root), now=LATER)

        once_after(monkeypatch, load, "make_reviews", other)
        told = take(root, [first, second, third])

        assert done(told) == [first, third]
        assert [(item.review_job_id, item.error.exit_code) for item in told[1]] == [
            (second, ExitCode.CONFLICT)
        ]
        actors = JobEvent.objects.filter(to_status=JobStatus.COMPLETED).order_by("job")
        assert list(actors.values_list("actor", flat=True)) == [
            "agent:test",
            "agent:first",
            "agent:test",
        ]
        assert Acceptance.objects.count() == 3
        assert broken_invariants() == ()


def once_after(monkeypatch, module, name, meanwhile):
    """Let something happen once, right after `module.name` was called for the first time."""
    real, waiting = getattr(module, name), [meanwhile]

    def followed(*args, **kwargs):
        found = real(*args, **kwargs)
        if waiting:
            waiting.pop()()
        return found

    monkeypatch.setattr(module, name, followed)


class _SqliteError(Exception):
    def __init__(self, code):
        super().__init__("refused")
        self.sqlite_errorcode = code


class _ServerError(Exception):
    def __init__(self, state):
        super().__init__("refused")
        self.sqlstate = state


class TestADatabaseThatRefuses:
    def refuse(self, monkeypatch, error, cause):
        """Refuse what is stored together, and nothing else."""

        real = finalization.store_reviews

        def refusing(reads, **kwargs):
            if len(reads) == 1:
                return real(reads, **kwargs)
            raise error from cause

        monkeypatch.setattr(finalization, "store_reviews", refusing)

    @pytest.mark.parametrize(
        ("error", "cause"),
        [
            pytest.param(IntegrityError("a constraint"), _SqliteError(19), id="a-row"),
            pytest.param(DataError("too long"), _ServerError("22001"), id="a-value"),
            pytest.param(OperationalError("too long"), _ServerError("54000"), id="a-size"),
            pytest.param(OperationalError("deadlock"), _ServerError("40P01"), id="a-deadlock"),
        ],
    )
    def test_something_of_one_job_is_asked_for_each_alone(self, root, monkeypatch, error, cause):
        job_ids = written(root, NAMES[:3])
        self.refuse(monkeypatch, error, cause)

        assert done(take(root, job_ids)) == job_ids

    @pytest.mark.parametrize(
        "cause",
        [
            pytest.param(_SqliteError(5), id="busy"),
            pytest.param(_ServerError("55P03"), id="a-lock"),
            pytest.param(_ServerError("08006"), id="a-lost-connection"),
            pytest.param(_ServerError("57P01"), id="a-server-that-stops"),
        ],
    )
    def test_for_all_jobs_is_not_asked_again(self, root, monkeypatch, cause):
        job_ids = written(root, NAMES[:3])
        self.refuse(monkeypatch, OperationalError("refused"), cause)

        with pytest.raises(OperationalError):
            take(root, job_ids)

        assert not Acceptance.objects.exists()


class TestATransaction:
    """Others wait while one lasts, so that it holds some jobs, and not too much text."""

    def sizes(self, root, monkeypatch, job_ids):
        sizes, real = [], finalization.store_reviews

        def counted(reads, **how):
            sizes.append(len(reads))
            return real(reads, **how)

        monkeypatch.setattr(finalization, "store_reviews", counted)
        assert done(take(root, job_ids)) == job_ids
        return sizes

    def test_holds_two_dozen_jobs(self, root, monkeypatch):
        assert self.sizes(root, monkeypatch, written(root)) == [25, 5]

    def test_holds_few_jobs_of_large_notes(self, root, monkeypatch):
        for name in NAMES[:5]:
            write_note(root, name, NOTE + "Many words. " * 90_000)

        job_ids = written(root, NAMES[:5], max_prompt_tokens=1_000_000)

        assert self.sizes(root, monkeypatch, job_ids) == [2, 2, 1]

    def test_holds_few_jobs_of_long_outputs(self, root, monkeypatch):
        job_ids = written(root, NAMES[:5])
        for job_id in job_ids:
            path = root / ReviewJob.objects.get(pk=job_id).bundle_output_path
            path.write_bytes(path.read_bytes() + b"And so on. " * 100_000)

        assert self.sizes(root, monkeypatch, job_ids) == [2, 2, 1]

    def test_holds_few_jobs_of_many_pairs(self, root, monkeypatch):
        monkeypatch.setattr(load, "_PAIRS_PER_TRANSACTION", 2)

        assert self.sizes(root, monkeypatch, written(root, NAMES[:5])) == [2, 2, 1]
