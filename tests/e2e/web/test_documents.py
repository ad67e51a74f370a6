"""A page that has a command beside it gives programs what that command prints, field by field."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from review.models import CurrentAcceptance, Finding, ReviewPair
from review.vocabulary import JobStatus
from review.web.pages import jobs as jobs_page
from review.web.pages import queue as queue_page
from review.web.pages import reviews as looks_page
from tests.builders import (
    GATES_FOLDER,
    NOTE,
    PARTITION,
    PASS,
    make_gate,
    make_jobs,
    write_gate,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.eventful import OTHER, eventful_root, history
from tests.helpers.planning import fail
from tests.helpers.reviewed import UNDECIDED, review_pairs
from tests.helpers.triage import decide, report, review_of

CANNOT = "### Summary\nThe note is cut off.\n\n## Result: ERROR"
DISAGREES = review_of(("warn", "the claim has no source", "A reader"), result="PASS")

QUEUE = {
    "": (),
    "state=rejected": ("--status", "rejected"),
    "state=open&state=fixed": ("--status", "open", "fixed"),
    "severity=fail": ("--severity", "fail"),
    "decision=fail": ("--decision", "fail"),
    "gate=prose/x": ("--gate", "prose/x"),
    "lens=prose": ("--gate", "prose"),
    "note=kb/notes/latin.md": ("--note", "kb/notes/latin.md"),
    "folder=kb/notes/deep": ("--note", "kb/notes/deep"),
    f"partition={OTHER}": ("--model", OTHER),
}
LOOKS = {
    "": (),
    "lens=prose": ("--gate", "prose"),
    "lens=links": ("--gate", "links"),
    f"partition={OTHER}": ("--model", OTHER),
    f"partition={PARTITION}&lens=prose": ("--model", PARTITION, "--gate", "prose"),
}
JOBS = {
    "": (),
    "status=queued&status=failed": ("--status", "queued", "failed"),
    "status=running": ("--status", "running"),
    f"partition={OTHER}": ("--model-partition", OTHER),
}
GATES = {"": (), "lens=prose": ("prose",), "lens=prose&lens=links": ("prose", "links")}

# What they show is on no command's list: their documents have schemas of their own.
PAGES_ALONE = {
    *("notes", "note", "gate", "job", "events", "matrix", "search", "finding"),
}
COMPARED = {"start", "costs", "queue", "looks", "jobs", "gates", "review", "diff"}
# What is no page: texts as they are, forms, the way in, and what a machine asks.
OTHER_ANSWERS = {
    *("healthz", "job-file", "review-text", "snapshot", "login", "logout", "enter", "preferences"),
    *("queue-dispose", "queue-all", "queue-undo", "finding-decide", "decide", "ack", "override"),
    *("request-review", "request-cells", "request-missing", "request-again"),
    "request-all-missing",
}


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None) -> Path:
    """A base with something of everything: problems, looks, dispositions, jobs of every status."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    root = eventful_root(tmp_path)
    for _step in history(root):
        pass
    for name in ("e.md", "f.md", "g.md", "h.md", "latin.md", "odd.md", "stranger.md"):
        write_note(root, name)
    write_gate(root, "links/typo", make_gate("links/typo", rule="no-such-rule"))
    for pair, review in (
        (("e.md", "links/typo"), PASS),
        (("e.md", "prose/x"), UNDECIDED),
        (("f.md", "links/z"), CANNOT),
        (("g.md", "prose/x"), DISAGREES),
        (("h.md", "prose/y"), DISAGREES),
        (("latin.md", "links/z"), UNDECIDED),
    ):
        review_pairs(root, pair, review=review)
    review_pairs(root, ("odd.md", "prose/x"), review=DISAGREES, model_partition=OTHER)
    answered = Finding.objects.filter(pair__note__path="kb/notes/h.md").get()
    decide(answered.fingerprint, "rejected")
    for name in ("latin.md", "odd.md"):
        report(root, name, "prose/y", "a point")
    _queue(root)
    _break(root)
    return root


def _queue(root: Path) -> None:
    queued, running, failed = (
        make_jobs(root, ("b.md", "links/z"), force=True, model_partition=partition)[0]
        for partition in (PARTITION, OTHER, OTHER)
    )
    assert queued.status == "queued"
    run("claim_review_job", "--review-job-id", running.review_job_id, "--runner", "test")
    fail(failed.review_job_id)


def _break(root: Path) -> None:
    """Faults in notes of the queue, of the looks and of neither; and in gates of two lenses."""
    write_note(root, "latin.md", b"# Caf\xe9\n")
    write_note(root, "h.md", b"\xff\xfe")
    write_note(root, "odd.md", "---\ntags: [\n---\n" + NOTE)
    write_note(root, "stranger.md", b"\0")
    write_note(root, "empty.md", b"")
    write_gate(root, "prose/broken", "---\nwatches: [\n---\n# Broken\n")


def page_document(web: Any, path: str, query: str = "") -> Any:
    """What a page gives to a program, the lists of all its parts put together."""
    document = part = web.get(f"{path}?{query}&format=json").json()
    while following := part.pop("next", None):
        part = web.get(following).json()
        for key in ("entries", "deleted_notes", "needs_a_look"):
            if key in part:
                document[key] += part[key]
        if "jobs" in part:
            # Later parts have older jobs.
            document["jobs"] = part["jobs"] + document["jobs"]
    return document


def command_document(name: str, *options: object) -> Any:
    """What a command prints, whole."""
    document = run(name, *options, "--json").json
    assert document.pop("next", None) is None
    return document


class TestPage:
    def test_gives_programs_what_its_command_prints(self, web, base):
        for path, query, command in (*_asked(), *_reviews(), *_changes(base)):
            assert page_document(web, path, query) == command_document(*command), (path, query)

    def test_has_something_of_everything_to_be_compared(self, web, base):
        queue, looks = page_document(web, "/queue/"), page_document(web, "/looks/")
        jobs, gates = page_document(web, "/jobs/"), page_document(web, "/gates/")

        notes = {"kb/notes/latin.md", "kb/notes/odd.md"}
        assert _paths(queue) == {f"{GATES_FOLDER}/prose/broken.md", *notes}
        assert _paths(looks) == notes  # and none whose reviews are all settled
        assert len(looks["needs_a_look"]) == 7
        assert all(look["rationale"] for look in looks["needs_a_look"])
        assert {job["status"] for job in jobs["jobs"]} == set(JobStatus.values)
        assert len(gates["problems"]) == 2
        assert len(list(_reviews())) > 10
        changes = [page_document(web, path, query) for path, query, _command in _changes(base)]
        assert any(change["diffs"] for change in changes)
        assert {code for change in changes for code in _codes(change)} >= {"unknown-rule"}

    def test_gives_it_in_parts_that_are_the_command_s_together(self, web, base, monkeypatch):
        for page, size in (
            (queue_page, "LINES_A_DOCUMENT"),
            (looks_page, "LOOKS_A_DOCUMENT"),
            (jobs_page, "JOBS_A_DOCUMENT"),
        ):
            monkeypatch.setattr(page, size, 2)
        # Nothing but the store is left of the notes: what it says of them is in parts, too.
        shutil.rmtree(base / "kb" / "notes")

        for path, command in (
            ("/queue/", ("warn_selector",)),
            ("/looks/", ("warn_selector", "--needs-a-look")),
            ("/jobs/", ("review_job_list",)),
        ):
            assert "next" in web.get(f"{path}?format=json").json(), path
            assert page_document(web, path) == command_document(*command), path


def _asked() -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """The lists under every filter that page and command share."""
    for path, command, filters in (
        ("/", ("review_status",), {"": ()}),
        ("/costs/", ("review_status", "--costs"), {"": ()}),
        ("/queue/", ("warn_selector",), QUEUE),
        ("/looks/", ("warn_selector", "--needs-a-look"), LOOKS),
        ("/jobs/", ("review_job_list",), JOBS),
        ("/gates/", ("resolve_gates",), GATES),
    ):
        for query, options in filters.items():
            yield path, query, (*command, *options)


def _reviews() -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Every review."""
    for pair in ReviewPair.objects.completed().values_list("pk", flat=True):
        yield f"/reviews/{pair}/", "", ("render_review", "--review-pair-id", pair)


def _changes(root: Path) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """The change of every accepted pair whose note is there."""
    rows = CurrentAcceptance.objects.values_list(
        "note__path", "gate__path", "model_partition__name"
    )
    for note, gate, partition in rows:
        gate_id = gate.removeprefix(f"{GATES_FOLDER}/").removesuffix(".md")
        query = urlencode({"gate": gate_id, "model": partition})
        if (root / note).exists():
            command = ("review_target_selector", gate_id, "--note", note, "--model", partition)
            yield f"/diff/{note}", query, command


def _paths(document: Any) -> set[str]:
    return {problem["path"] for problem in document["problems"]}


def _codes(document: Any) -> set[str]:
    return {problem["code"] for problem in document["problems"]}


class TestEveryPage:
    def test_is_compared_or_has_a_schema_of_its_own(self):
        names = set(_names(get_resolver().url_patterns))

        assert names == PAGES_ALONE | COMPARED | OTHER_ANSWERS


def _names(patterns: Any) -> Iterator[str]:
    for found in patterns:
        if isinstance(found, URLResolver) and found.namespace is None:
            yield from _names(found.url_patterns)
        elif isinstance(found, URLPattern) and found.name:
            yield found.name
