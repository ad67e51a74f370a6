"""Invariants of the store as a whole: its one row, its counters, its view, and whose texts are whose."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import connections, models

from review.queries.invariant_rules import Rule

# The current acceptance that a row of the view is about, by its unique names, so that one pass over
# the view finds each by index, in whatever order keys were accepted.
_STORED = """
    SELECT 1 FROM review_paths AS note, review_paths AS gate, review_model_partitions AS part,
        review_current_acceptances AS now_accepted, acceptance_events AS event,
        review_file_snapshots AS note_text, review_file_snapshots AS gate_text
    WHERE note.path = shown.note_path AND gate.path = shown.gate_path
      AND part.name = shown.model_partition
      AND now_accepted.model_partition_id = part.id AND now_accepted.note_id = note.id
      AND now_accepted.gate_id = gate.id AND event.id = now_accepted.event_id
      AND note_text.id = event.accepted_note_snapshot_id
      AND gate_text.id = event.accepted_gate_snapshot_id
      AND event.kind = shown.kind AND event.decision = shown.decision
      AND COALESCE(event.accepted_review_pair_id, 0) = COALESCE(shown.accepted_review_pair_id, 0)
      AND event.accepted_note_snapshot_id = shown.accepted_note_snapshot_id
      AND event.accepted_gate_snapshot_id = shown.accepted_gate_snapshot_id
      AND note_text.content_sha256 = shown.accepted_note_hash
      AND gate_text.content_sha256 = shown.accepted_gate_hash
      AND event.accepted_at = shown.accepted_at AND event.actor = shown.actor
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
        FROM current_gate_acceptances AS shown WHERE NOT EXISTS ({_STORED})
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
