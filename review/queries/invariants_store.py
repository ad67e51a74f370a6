"""Invariants of the store as a whole: its one row, its counters, its view, and whose texts are whose."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import connections, models

from review.queries.invariant_rules import Rule

_VIEWED = """
    SELECT note.path, gate.path, part.name, event.kind, event.accepted_review_pair_id,
           event.decision, event.accepted_note_snapshot_id, event.accepted_gate_snapshot_id,
           note_text.content_sha256, gate_text.content_sha256, event.accepted_at, event.actor
    FROM review_current_acceptances AS now_accepted
    JOIN acceptance_events AS event ON event.id = now_accepted.event_id
    JOIN review_paths AS note ON note.id = now_accepted.note_id
    JOIN review_paths AS gate ON gate.id = now_accepted.gate_id
    JOIN review_model_partitions AS part ON part.id = now_accepted.model_partition_id
    JOIN review_file_snapshots AS note_text ON note_text.id = event.accepted_note_snapshot_id
    JOIN review_file_snapshots AS gate_text ON gate_text.id = event.accepted_gate_snapshot_id
"""
_VIEW = """
    SELECT note_path, gate_path, model_partition, kind, accepted_review_pair_id, decision,
           accepted_note_snapshot_id, accepted_gate_snapshot_id, accepted_note_hash,
           accepted_gate_hash, accepted_at, actor
    FROM current_gate_acceptances
"""

STORE_RULES = (
    Rule(
        "the-store-has-one-identity",
        """
        SELECT 1, 'the row that says which store this is: ' || COUNT(*) || ' of it'
        FROM review_store WHERE id = 1 AND store_id <> '' HAVING COUNT(*) <> 1
        """,
    ),
    Rule(
        "job-ids-are-below-the-allocator",
        """
        SELECT job.id, 'job ' || job.id || ', but the next id to be given is ' || store.next_job_id
        FROM review_jobs AS job JOIN review_store AS store ON job.id >= store.next_job_id
        ORDER BY job.id
        """,
    ),
    Rule(
        "the-view-shows-the-current-acceptances",
        f"""
        SELECT note_path, 'the view and the tables differ about ' || note_path || ' ' || gate_path
        FROM (SELECT * FROM ({_VIEW}) AS shown EXCEPT SELECT * FROM ({_VIEWED}) AS stored) AS extra
        UNION ALL
        SELECT '', 'the view shows ' || shown.number || ' of ' || stored.number
            || ' current acceptances'
        FROM (SELECT COUNT(*) AS number FROM current_gate_acceptances) AS shown,
             (SELECT COUNT(*) AS number FROM review_current_acceptances) AS stored
        WHERE shown.number <> stored.number
        """,  # noqa: S608 - constants of this file
    ),
    Rule(
        "pairs-pin-texts-of-their-files",
        """
        SELECT pair.id, 'pair ' || pair.id || ' pins a text of another file'
        FROM review_pairs AS pair
        LEFT JOIN review_file_snapshots AS note
            ON note.id = pair.note_snapshot_id AND note.path_id = pair.note_id
        LEFT JOIN review_file_snapshots AS gate
            ON gate.id = pair.gate_snapshot_id AND gate.path_id = pair.gate_id
        WHERE note.id IS NULL OR gate.id IS NULL
        ORDER BY pair.id
        """,
    ),
    Rule(
        "acceptances-pin-texts-of-their-files",
        """
        SELECT event.id, 'acceptance ' || event.id || ' pins a text of another file'
        FROM acceptance_events AS event
        LEFT JOIN review_file_snapshots AS note
            ON note.id = event.accepted_note_snapshot_id AND note.path_id = event.note_id
        LEFT JOIN review_file_snapshots AS gate
            ON gate.id = event.accepted_gate_snapshot_id AND gate.path_id = event.gate_id
        WHERE note.id IS NULL OR gate.id IS NULL
        ORDER BY event.id
        """,
    ),
)


def counters_behind(using: str) -> Iterator[str]:
    """Tables whose counter would hand out a key that a row has already; PostgreSQL only.

    SQLite looks at the highest key itself. Job ids come from the store's own row.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    for model in apps.get_app_config("review").get_models():
        if not isinstance(model._meta.pk, models.AutoField):
            continue
        table, column = model._meta.db_table, model._meta.pk.column
        if table in ("review_jobs", "review_store"):
            continue
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [f'"{table}"', column])
            (sequence,) = cursor.fetchone()
            cursor.execute(
                f'SELECT last_value, (SELECT MAX("{column}") FROM "{table}") FROM {sequence}'  # noqa: S608
            )
            last, highest = cursor.fetchone()
        if highest is not None and highest > last:
            yield f"{table} has a row {highest}, its counter stands at {last}"
