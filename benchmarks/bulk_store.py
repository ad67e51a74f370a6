"""Fills a store in which every pair of a base is fresh, with statements that insert many rows at once.

Works on SQLite and on PostgreSQL; Django must be set up. Rows are what the application would have
left after one job a note, and satisfy every constraint and invariant; nothing but their making is
different. Files of jobs are not made: `review_doctor --repair` writes them.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.models import Model

    from benchmarks.make_kb import KnowledgeBase

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
WARN_EVERY = 26
_FILES_AT_ONCE = 500
_NOTES_AT_ONCE = 2000
_LOOSE = {
    "sqlite": (
        "PRAGMA foreign_keys = OFF",
        "PRAGMA synchronous = OFF",
        "PRAGMA cache_size = -500000",
    ),
    "postgresql": ("SET session_replication_role = replica", "SET synchronous_commit = off"),
}
# What a job's log says of it.
_LIFE = ("", "queued", "running", "completed")
_FINDING = "The second sentence claims more than the section shows."
# About as much as a model writes of a pair that passes.
_REVIEW = "### Summary\n\nJudged by the benchmark. " + "The section keeps to its one claim. " * 16


@dataclass(frozen=True)
class Filling:
    partition: str
    warn_every: int = WARN_EVERY


@dataclass(frozen=True)
class _First:
    """The first free key of each table."""

    pair: int
    event: int
    current: int
    finding: int
    move: int


def accept_all(base: KnowledgeBase, *fillings: Filling) -> None:
    """Give every pair a completed review and a current acceptance in each partition."""
    from django.db import transaction

    from review.acceptance.accept import rebuild_finding_states

    gates = _snapshots(base.root, base.gates)
    with _unchecked():
        notes = _snapshots(base.root, base.notes)
        for filling in fillings:
            for start in range(0, len(notes), _NOTES_AT_ONCE):
                _fill(filling, notes[start : start + _NOTES_AT_ONCE], gates)
        with transaction.atomic():
            rebuild_finding_states()
        _finish()


def _snapshots(root: Path, paths: Sequence[str]) -> list[tuple[int, int]]:
    """Keys of path and snapshot of each file, in the order of `paths`."""
    from django.db import transaction

    from review.models import FileSnapshot

    found = []
    for start in range(0, len(paths), _FILES_AT_ONCE):
        texts = {}
        for path in paths[start : start + _FILES_AT_ONCE]:
            data = (root / path).read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            texts[path, digest] = data.decode("utf-8")
        with transaction.atomic():
            keys = FileSnapshot.objects.take(texts, now=NOW)
        found += [keys[key] for key in texts]
    return [(row.path_id, row.pk) for row in found]


def _fill(
    filling: Filling, notes: Sequence[tuple[int, int]], gates: Sequence[tuple[int, int]]
) -> None:
    from django.db import connection, transaction

    from review.models import (
        Acceptance,
        CurrentAcceptance,
        Finding,
        JobEvent,
        ModelPartition,
        ReviewPair,
        ReviewStore,
    )

    with transaction.atomic(), connection.cursor() as cursor:
        owner = ModelPartition.objects.get_or_create(name=filling.partition)[0].pk
        first_job = ReviewStore.objects.allocate_job_ids(len(notes))
        for name, rows in (("bench_notes", notes), ("bench_gates", gates)):
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
            cursor.execute(
                f"CREATE TEMPORARY TABLE {name} (number bigint, path_id bigint, snapshot_id bigint)"
            )
            cursor.executemany(
                f"INSERT INTO {name} VALUES (%s, %s, %s)",  # noqa: S608
                [(number, *keys) for number, keys in enumerate(rows)],
            )
        first = _First(
            *map(_next_key, (ReviewPair, Acceptance, CurrentAcceptance, Finding, JobEvent))
        )
        for statement in _statements(filling, owner, first_job, first, len(gates)):
            cursor.execute(statement)


def _statements(
    filling: Filling, owner: int, first_job: int, first: _First, gates: int
) -> Iterator[str]:
    """The statements for one chunk; every value in them is a number or a word of this module."""
    from django.db import connection

    at = f"'{connection.ops.adapt_datetimefield_value(NOW)}'"
    every = filling.warn_every
    warned = f"(n.path_id + g.path_id) % {every} = 0" if every else "1 = 0"
    decision = f"CASE WHEN {warned} THEN 'warn' ELSE 'pass' END"
    pairs = "FROM bench_notes n CROSS JOIN bench_gates g"
    place = f"n.number * {gates} + g.number"
    ordered = "ORDER BY n.number, g.number"
    folder = f"'kb/reports/bundle-reviews/review-job-' || (n.number + {first_job})"
    yield f"""INSERT INTO review_jobs (id, model_partition_id, status, "grouping", lens, sentinel_token,
        prompt_path, bundle_output_path, prompt_sha256, estimated_prompt_tokens, pair_count, created_at,
        started_at, completed_at, claimed_by, parent_host, self_reported_model, failure_code, failure_reason)
        SELECT n.number + {first_job}, {owner}, 'completed', 'note', 'prose', '0badcafe',
        {folder} || '/prompt.md', {folder} || '/bundle-output.md', '{"0" * 64}', 5000, {gates}, {at}, {at},
        {at}, 'agent:benchmark', '', '', '', '' FROM bench_notes n ORDER BY n.number"""  # noqa: S608
    for step, (before, after) in enumerate(itertools.pairwise(_LIFE)):
        yield f"""INSERT INTO review_job_events (id, job_id, from_status, to_status, actor, note, at)
            SELECT {first.move + step} + n.number * {len(_LIFE) - 1}, n.number + {first_job}, '{before}',
            '{after}', 'agent:benchmark', '', {at} FROM bench_notes n ORDER BY n.number"""  # noqa: S608
    yield f"""INSERT INTO review_pairs (id, job_id, ordinal, note_id, gate_id, note_snapshot_id,
        gate_snapshot_id, status, decision, decision_source, problem, not_accepted, result_path, reviewed_at)
        SELECT {first.pair} + {place}, n.number + {first_job}, g.number + 1, n.path_id, g.path_id,
        n.snapshot_id, g.snapshot_id, 'completed', {decision}, 'result-line', '', '',
        {folder} || '/pair-' || (g.number + 1) || '.md', {at}
        {pairs} {ordered}"""
    yield f"""INSERT INTO review_texts (pair_id, text) SELECT {first.pair} + {place},
        '{_REVIEW}' || ({place}) || ' ## Result: ' || upper({decision}) {pairs} {ordered}"""
    yield f"""INSERT INTO acceptance_events (id, note_id, gate_id, model_partition_id, kind,
        accepted_review_pair_id, accepted_note_snapshot_id, accepted_gate_snapshot_id, decision,
        text_read_at, actor, reason, accepted_at)
        SELECT {first.event} + {place}, n.path_id, g.path_id, {owner}, 'full-review',
        {first.pair} + {place}, n.snapshot_id, g.snapshot_id, {decision}, {at}, 'agent:benchmark', '', {at}
        {pairs} {ordered}"""
    yield f"""INSERT INTO review_current_acceptances (id, model_partition_id, note_id, gate_id, event_id,
        note_snapshot_id, gate_snapshot_id, decision)
        SELECT {first.current} + {place}, {owner}, n.path_id, g.path_id, {first.event} + {place},
        n.snapshot_id, g.snapshot_id, {decision} {pairs} {ordered}"""
    if every:
        # Fingerprints spread over their range, as real ones do, and differ all the same.
        mark = f"substr(CAST(10000000000000000 + (({first.pair} + {place}) * 2654435761) % 10000000000000000 AS text), 2)"
        yield f"""INSERT INTO review_findings (id, pair_id, ordinal, severity, text, quote, fingerprint)
            SELECT {first.finding} - 1 + ROW_NUMBER() OVER ({ordered}), {first.pair} + {place}, 1, 'warn',
            '{_FINDING}', '', {mark} {pairs} WHERE {warned} {ordered}"""


def _next_key(model: type[Model]) -> int:
    from django.db.models import Max

    found = model._default_manager.aggregate(last=Max("pk"))["last"]
    return (found or 0) + 1


@contextmanager
def _unchecked() -> Iterator[None]:
    """Leave foreign keys unchecked and writes unsynced meanwhile: the rows are right, and many."""
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in _LOOSE[connection.vendor]:
            cursor.execute(statement)
    try:
        yield
    finally:
        connection.close()


def _finish() -> None:
    """Set what counts keys on, and let the planner know how much there is, as time would."""
    from django.apps import apps
    from django.core.management.color import no_style
    from django.db import connection

    with connection.cursor() as cursor:
        models = list(apps.get_app_config("review").get_models())
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
        if connection.vendor == "postgresql":
            cursor.execute("VACUUM ANALYZE")
