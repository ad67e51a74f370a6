"""Pruning takes files that the store can do without: after any history every answer stays the same."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from review.models import JobEvent, ReviewJob
from review.upkeep.checks import broken_invariants
from tests.builders import NOW, PARTITION
from tests.helpers.commands import run
from tests.helpers.histories import NOTES, History, history_root

pytestmark = pytest.mark.django_db

STEPS = sorted(History(None).steps)


def steps_of(names, *, at_least, at_most):
    """Steps of these names, about any note, in any of ten ways."""
    step = st.tuples(st.sampled_from(names), st.sampled_from(NOTES), st.integers(0, 9))
    return st.lists(step, min_size=at_least, max_size=at_most)


# Reviews first and often: without them there is nothing that a pruning could take.
histories = st.tuples(
    steps_of(["review"], at_least=2, at_most=4),
    steps_of([*STEPS, *["review"] * 4], at_least=2, at_most=10),
).map(lambda parts: [*parts[0], *parts[1]])
# A history takes a second: to make a failing one smaller would take minutes, and says little more.
slow = settings(
    suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.reuse, Phase.generate)
)
# The one that takes least first, so that each has something left to take.
RULES = (("--older-than", "3d", "--superseded"), ("--superseded",), ("--older-than", "3d"), ())


class _Undo(Exception):
    """Takes back a history, for the next one."""


@contextmanager
def a_root_of_its_own(factory):
    """A knowledge base and a store that last for one history."""
    root = history_root(factory.mktemp("history"))
    with pytest.MonkeyPatch.context() as patch, suppress(_Undo), transaction.atomic():
        patch.setenv("COMMONPLACE_ROOT", str(root))
        patch.setenv("COMMONPLACE_ACTOR", "human:test")
        yield root
        raise _Undo


def said(root, now):
    """What every reading command prints, byte for byte."""
    notes = sorted((root / "kb" / "notes").iterdir())
    commands = [
        ("review_target_selector", "--all-gates", "--model", PARTITION, "--json"),
        ("review_target_selector", "--all-gates", "--json"),
        ("warn_selector", "--json"),
        ("warn_selector", "--needs-a-look", "--json"),
        ("warn_selector", "--format", "csv"),
        *(("warn_selector", "--status", it, "--json") for it in ("fixed", "rejected", "deferred")),
        ("review_status", "--json"),
        ("review_job_list", "--json"),
        *(("render_review", "--note", f"kb/notes/{note.name}", "--json") for note in notes),
        *(("fix_prompt", f"kb/notes/{note.name}") for note in notes),
        *(("render_review", "--review-pair-id", number, "--json") for number in range(1, 20)),
    ]
    answers = {command: run(*command, now=now) for command in commands}
    return {command: (done.exit, done.out, done.err) for command, done in answers.items()}


def rows():
    """Every row of every table, but for the log in which a pruning is told."""
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in apps.get_app_config("review").get_models()
        if model is not JobEvent
    }


def exported(root, name):
    run("export_reviews", "--format", "markdown", "--output", root / name)
    run("export_reviews", "--format", "csv", "--output", root / f"{name}.csv")
    files = [*(root / name).rglob("*.md"), root / f"{name}.csv"]
    return {file.name.replace(name, ""): file.read_bytes() for file in files if file.is_file()}


def check_history(factory, steps):
    """Do the steps, prune by one rule after the other, and look for a difference."""
    with a_root_of_its_own(factory) as root:
        history = History(root)
        history.go(steps)
        before = said(root, history.now), rows(), exported(root, "one")
        for number, rule in enumerate(RULES):
            named = run("review_doctor", "--prune", *rule, now=history.now)
            there = folders(root)
            assert rows() == before[1], "naming removed something"

            done = run("review_doctor", "--prune", "--yes", *rule, now=history.now)

            assert done.exit == named.exit
            after = said(root, history.now), rows(), exported(root, f"n{number}")
            assert after == before
            assert_kept(root, rule, history.now, before=there)
        assert broken_invariants() == ()


def folders(root):
    """The ids of the jobs whose folders are there."""
    there = (root / "kb/reports/bundle-reviews").glob("review-job-*")
    return {int(folder.name.removeprefix("review-job-")) for folder in there}


def assert_kept(root, rule, now, *, before):
    """What this rule took, it was free to take; and without a rule all goes that can."""
    there = folders(root)
    for job in ReviewJob.objects.filter(pk__in=before - there):
        assert job.status not in ("queued", "running"), f"{job} is open"
        assert job.events.filter(note="artifacts pruned").exists()
        if "--older-than" in rule:
            assert job.completed_at <= now - timedelta(days=3), f"{job} was closed lately"
        if "--superseded" in rule:
            counts = job.pairs.filter(acceptances__current__isnull=False)
            assert not counts.exists(), f"a current acceptance rests on {job}"
    if not rule:
        assert not ReviewJob.objects.filter(pk__in=there, status="completed").exists()


class TestAfterAnyHistory:
    @settings(slow, max_examples=4)
    @given(steps=histories)
    def test_every_answer_is_the_same(self, tmp_path_factory, steps):
        check_history(tmp_path_factory, steps)

    @pytest.mark.soak
    @settings(slow, max_examples=150)
    @given(steps=histories)
    def test_every_answer_is_the_same_after_many(self, tmp_path_factory, steps):
        check_history(tmp_path_factory, steps)


class TestWhatOnlyAFileHolds:
    def test_an_output_that_came_after_its_job_was_replaced_stays(self, tmp_path_factory):
        with a_root_of_its_own(tmp_path_factory) as root:
            History(root).go([("too-late", "a", 1)])

            done = run("review_doctor", "--prune", "--yes", now=NOW + timedelta(days=9))

            assert "1 more hold an output that was never taken in, and stay" in done.out
            output = root / "kb/reports/bundle-reviews/review-job-1/bundle-output.md"
            assert output.read_text() == "late 1\n"

    def test_without_one_the_folder_of_a_replaced_job_goes(self, tmp_path_factory):
        with a_root_of_its_own(tmp_path_factory) as root:
            History(root).go([("queue", "a", 1), ("queue", "b", 1), ("give-up", "a", 1)])

            run("review_doctor", "--prune", "--yes", now=NOW + timedelta(days=9))

            assert not (root / "kb/reports/bundle-reviews/review-job-2").exists()


class TestOptions:
    @pytest.mark.parametrize("option", [("--older-than", "3d"), ("--superseded",)])
    def test_go_with_prune_only(self, option):
        assert run("review_doctor", *option).exit == 2
