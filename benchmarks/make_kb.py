"""Builds a deterministic knowledge base of realistic sizes, and a store in which all of it is fresh.

    python benchmarks/make_kb.py DEST --notes 10000 --gates 40 [--accepted PARTITION ...]

Notes have a log-normal size with a median of 6 kB. With `--accepted`, every (note, gate) pair gets
a completed review and a current acceptance, through the application's own models, in bulk; about
4 % of the pairs are decided `warn` with one open finding each.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from review.models import Finding, ReviewJob, ReviewPair

SEED = 20260131
MEDIAN_BYTES = 6000
LENSES = ("accessibility", "frontmatter", "prose", "semantic", "sentence", "structure")
WARN_EVERY = 26
_NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
_SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
)
_CHUNK_NOTES = 100


@dataclass(frozen=True)
class KnowledgeBase:
    """The root-relative paths that were written, notes and gates apart, sorted."""

    root: Path
    notes: tuple[str, ...]
    gates: tuple[str, ...]


def make_files(root: Path, *, notes: int, gates: int) -> KnowledgeBase:
    """Write the notes and gates below `root/kb`; the same numbers give the same bytes."""
    rng = random.Random(SEED)  # noqa: S311
    vocabulary = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(4000)]
    note_paths = []
    for number in range(notes):
        path = f"kb/notes/area-{number // 250:03d}/note-{number:06d}.md"
        _write(root / path, _note(rng, vocabulary, number, notes))
        note_paths.append(path)
    gate_paths = []
    for number in range(gates):
        lens = LENSES[number % len(LENSES)]
        path = f"kb/instructions/review-gates/{lens}/gate-{number:03d}.md"
        _write(root / path, _gate(rng, vocabulary, lens, number))
        gate_paths.append(path)
    return KnowledgeBase(root, tuple(sorted(note_paths)), tuple(sorted(gate_paths)))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _sentence(rng: random.Random, vocabulary: Sequence[str]) -> str:
    words = rng.choices(vocabulary, k=rng.randint(6, 22))
    return " ".join(words).capitalize() + "."


def _note(rng: random.Random, vocabulary: Sequence[str], number: int, notes: int) -> str:
    title = " ".join(rng.choices(vocabulary, k=4)).capitalize()
    size = min(int(rng.lognormvariate(0, 0.65) * MEDIAN_BYTES), 120_000)
    lines = [
        "---",
        "type: kb/types/note.md",
        f"title: {title} {number}",
        f"description: {_sentence(rng, vocabulary)}",
        f"status: {'current' if number % 4 else 'draft'}",
        "---",
        "",
        f"# {title} {number}",
        "",
    ]
    written = sum(len(line) + 1 for line in lines)
    while written < size:
        paragraph = " ".join(_sentence(rng, vocabulary) for _ in range(rng.randint(2, 6)))
        if rng.random() < 0.2:
            other = rng.randrange(notes)
            paragraph += f" See [this](../area-{other // 250:03d}/note-{other:06d}.md)."
        heading = [f"## {_sentence(rng, vocabulary)[:40]}", ""] if rng.random() < 0.15 else []
        block = [*heading, paragraph, ""]
        lines += block
        written += sum(len(line) + 1 for line in block)
    return "\n".join(lines)


def _gate(rng: random.Random, vocabulary: Sequence[str], lens: str, number: int) -> str:
    body = "\n\n".join(
        f"## {heading}\n\n{' '.join(_sentence(rng, vocabulary) for _ in range(4))}"
        for heading in ("Failure mode", "Test", "Example (fail)", "Example (pass)")
    )
    return (
        f"---\ntype: kb/types/review-gate.md\ngate_id: {lens}/gate-{number:03d}\n"
        f"name: Gate {number}\nlens: {lens}\nwatches: [title, body]\nstaleness: rewrite(0.3)\n"
        f"description: {_sentence(rng, vocabulary)}\n---\n\n{body}\n"
    )


def accept_all(base: KnowledgeBase, partition: str) -> None:
    """Give every pair a completed review and a current acceptance; Django must be set up."""
    from django.db import transaction

    from review.models import ModelPartition

    owner = ModelPartition.objects.intern(partition)
    gates = _snapshots(base.root, base.gates)
    with transaction.atomic():
        for start in range(0, len(base.notes), _CHUNK_NOTES):
            chunk = base.notes[start : start + _CHUNK_NOTES]
            _accept_chunk(owner.pk, _snapshots(base.root, chunk), gates)


def _snapshots(root: Path, paths: Sequence[str]) -> list[tuple[int, int]]:
    """Keys of path and snapshot of each file, in the order of `paths`."""
    from review.models import FileSnapshot, SnapshotText

    texts = []
    for path in paths:
        data = (root / path).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        texts.append(SnapshotText(path, digest, data.decode("utf-8"), len(data)))
    keys = FileSnapshot.objects.take(texts, now=_NOW)
    found = [keys[item.path, item.sha256] for item in texts]
    return [(key.path_id, key.snapshot_id) for key in found]


def _accept_chunk(
    partition_id: int, notes: Sequence[tuple[int, int]], gates: Sequence[tuple[int, int]]
) -> None:
    from review.models import (
        Acceptance,
        CurrentAcceptance,
        Finding,
        ReviewJob,
        ReviewPair,
        ReviewStore,
        ReviewText,
    )

    first = ReviewStore.objects.allocate_job_ids(len(notes))
    jobs = [_job(first + index, partition_id, len(gates)) for index in range(len(notes))]
    ReviewJob.objects.bulk_create(jobs)
    pairs = ReviewPair.objects.bulk_create(
        [
            _pair(job, ordinal, note, gate)
            for job, note in zip(jobs, notes, strict=True)
            for ordinal, gate in enumerate(gates, start=1)
        ]
    )
    ReviewText.objects.bulk_create([ReviewText(pair=pair, text=_text(pair)) for pair in pairs])
    Finding.objects.bulk_create(list(_findings(pairs)))
    shared = ("note_id", "gate_id", "note_snapshot_id", "gate_snapshot_id", "decision")
    events = Acceptance.objects.bulk_create(
        [
            Acceptance(
                **{name: getattr(pair, name) for name in shared},
                model_partition_id=partition_id,
                kind="full-review",
                review_pair=pair,
                text_read_at=_NOW,
                accepted_at=_NOW,
                actor="agent:benchmark",
            )
            for pair in pairs
        ]
    )
    CurrentAcceptance.objects.bulk_create(
        [
            CurrentAcceptance(
                **{name: getattr(event, name) for name in shared},
                model_partition_id=partition_id,
                event=event,
            )
            for event in events
        ]
    )


def _job(job_id: int, partition_id: int, pair_count: int) -> ReviewJob:
    from review.models import ReviewJob

    folder = f"kb/reports/bundle-reviews/review-job-{job_id}"
    return ReviewJob(
        pk=job_id,
        model_partition_id=partition_id,
        status="completed",
        grouping="note",
        lens="prose",
        sentinel_token=f"{job_id:08x}",
        prompt_path=f"{folder}/prompt.md",
        bundle_output_path=f"{folder}/bundle-output.md",
        prompt_sha256="0" * 64,
        estimated_prompt_tokens=5000,
        pair_count=pair_count,
        created_at=_NOW,
        started_at=_NOW,
        completed_at=_NOW,
        claimed_by="agent:benchmark",
    )


def _pair(job: ReviewJob, ordinal: int, note: tuple[int, int], gate: tuple[int, int]) -> ReviewPair:
    from review.models import ReviewPair

    warned = (note[0] + gate[0]) % WARN_EVERY == 0
    return ReviewPair(
        job=job,
        ordinal=ordinal,
        note_id=note[0],
        gate_id=gate[0],
        note_snapshot_id=note[1],
        gate_snapshot_id=gate[1],
        status="completed",
        decision="warn" if warned else "pass",
        decision_source="result-line",
        reviewed_at=_NOW,
    )


def _text(pair: ReviewPair) -> str:
    return f"### Summary\n\nJudged by the benchmark.\n\n## Result: {pair.decision.upper()}\n"


def _findings(pairs: Sequence[ReviewPair]) -> Iterator[Finding]:
    from review.models import Finding

    for pair in pairs:
        if pair.decision == "warn":
            digest = hashlib.sha256(f"{pair.note_id}/{pair.gate_id}".encode())
            yield Finding(
                pair=pair,
                ordinal=1,
                severity="warn",
                text="The second sentence claims more than the section shows.",
                quote="",
                fingerprint=digest.hexdigest()[:16],
            )


def set_up_django(root: Path) -> None:
    """Point the application at `root` and make its store."""
    os.environ["COMMONPLACE_ROOT"] = str(root)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "commonplace_site.settings.cli")
    import django

    django.setup()
    from review import store

    store.ensure_store(write=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dest", type=Path)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--gates", type=int, default=40)
    parser.add_argument("--accepted", action="append", default=[], metavar="PARTITION")
    options = parser.parse_args(arguments)
    root = options.dest.resolve()
    if (root / "kb").exists():
        parser.error(f"{root} already holds a kb/ folder")
    base = make_files(root, notes=options.notes, gates=options.gates)
    if options.accepted:
        set_up_django(root)
        for partition in options.accepted:
            accept_all(base, partition)
    print(
        f"{len(base.notes)} notes, {len(base.gates)} gates, accepted: {options.accepted or 'none'}"
    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
