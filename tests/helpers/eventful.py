"""A queue in which everything happened once: the steps of a history, to be looked at after each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from review.acceptance.ack import AckRequest, ack_gate_review
from review.acceptance.carry_over import CarryRequest, carry_over_acceptances
from review.acceptance.decide import OverrideRequest, override_acceptance
from review.models import Finding
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    PASS,
    make_gate,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.reviewed import open_corpus, review_pairs
from tests.helpers.triage import decide, report, review_of

OTHER = "gpt-5-1"
QUOTE = "A reader finds a note by its title"
BOTH = review_of(("fail", "it contradicts itself", QUOTE), ("warn", "vague", ""), result="FAIL")
NOTES = ("a.md", "b.md", "kb/notes/deep/c.md", "kb/notes/deep/d.md", "gone.md")
GATES = ("prose/x", "prose/y", "links/z")


def eventful_root(folder: Path) -> Path:
    """Notes of all kinds of fate, and gates of two lenses."""
    return make_root(
        folder,
        notes=dict.fromkeys(NOTES, NOTE),
        gates={gate: make_gate(gate) for gate in GATES},
    )


def history(root: Path) -> Iterator[str]:
    """Do one thing after another; gives the name of what was done."""
    at = _clock()
    yield from _reviewed_and_decided(root, at)
    yield from _moved_and_changed(root, at)


def _reviewed_and_decided(root: Path, at: Iterator[datetime]) -> Iterator[str]:
    (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=BOTH, now=next(at))
    first, second = Finding.objects.filter(pair_id=pair_id).order_by("ordinal")
    yield "a review with two findings"
    named = {name: report(root, name, "prose/x", "unclear", now=next(at)) for name in NOTES[1:]}
    yield "more notes"
    review_pairs(root, ("b.md", "prose/y"), review="## Result: WARN", now=next(at))
    yield "a review without a finding"
    review_pairs(root, ("b.md", "links/z"), review=PASS, now=next(at))
    yield "a pass"
    decide(first.fingerprint, "rejected", at=next(at), reason="it does not")
    yield "rejected"
    decide(second.fingerprint, "fixed", at=next(at))
    yield "fixed"
    review_pairs(root, ("a.md", "prose/x"), review=BOTH, now=next(at))
    yield "reported again after it was fixed"
    decide(named["b.md"][0], "deferred", at=next(at), note_sha256=_digest(root, "b.md"))
    yield "deferred"
    write_note(root, "b.md", NOTE + "\nOne more line.\n")
    yield "its note changed"
    _ack(root, "b.md", next(at))
    yield "acked"
    decide(named["b.md"][0], "deferred", at=next(at), note_sha256=_digest(root, "b.md"))
    yield "deferred again"
    decide(first.fingerprint, "open", at=next(at))
    yield "open again"


def _moved_and_changed(root: Path, at: Iterator[datetime]) -> Iterator[str]:
    report(root, "a.md", "prose/x", "vague", model_partition=OTHER, now=next(at))
    yield "another model, which finds less"
    review_pairs(root, ("a.md", "prose/y"), review=BOTH, model_partition=OTHER, now=next(at))
    review_pairs(root, ("a.md", "prose/y"), review=BOTH, now=next(at))
    review_pairs(root, ("a.md", "prose/y"), review=PASS, model_partition=OTHER, now=next(at))
    yield "another model, which passes later"
    (root / note_path("gone.md")).unlink()
    yield "a note is gone"
    (root / "kb/notes/deep/c.md").rename(root / "kb/notes/deep/moved.md")
    move = CarryRequest(
        old_path="kb/notes/deep/c.md", new_path="kb/notes/deep/moved.md", actor="human:ana"
    )
    carry_over_acceptances(move, corpus=open_corpus(root), now=next(at))
    yield "a note moved"
    override = OverrideRequest(
        note="kb/notes/deep/d.md",
        gates=("prose/x",),
        model_partition=PARTITION,
        reason="leave it",
        actor="human:ana",
    )
    override_acceptance(override, corpus=open_corpus(root), now=next(at))
    yield "overridden"
    write_gate(root, "prose/y", make_gate("prose/y", body="It asks for something else.\n"))
    yield "a gate changed"
    review_pairs(root, ("a.md", "prose/y"), review=BOTH, now=next(at))
    yield "and judged anew"


def _clock() -> Iterator[datetime]:
    at = NOW
    while True:
        yield at
        at += timedelta(minutes=10)


def _digest(root: Path, name: str) -> str:
    return open_corpus(root).read_note(note_path(name)).sha256


def _ack(root: Path, name: str, now: datetime) -> None:
    request = AckRequest(
        note=note_path(name), gates=("prose/x",), model_partition=PARTITION, actor="human:ana"
    )
    ack_gate_review(request, corpus=open_corpus(root), now=now)
