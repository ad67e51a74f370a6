"""Invariants of acceptances: each rests on its evidence, and the current one is the last."""

from __future__ import annotations

from review.queries.invariant_rules import Rule

ACCEPTANCE_RULES = (
    Rule(
        "current-acceptance-is-the-latest-event",
        """
        SELECT latest.id, 'acceptance ' || latest.id || ' is the last of its key, current is '
            || CASE WHEN current.event_id IS NULL THEN 'none' ELSE '' || current.event_id END
        FROM (SELECT model_partition_id, note_id, gate_id, MAX(id) AS id
              FROM acceptance_events GROUP BY note_id, gate_id, model_partition_id) AS latest
        LEFT JOIN review_current_acceptances AS current
            ON current.model_partition_id = latest.model_partition_id
            AND current.note_id = latest.note_id AND current.gate_id = latest.gate_id
        WHERE current.event_id IS NULL OR current.event_id <> latest.id
        ORDER BY latest.id
        """,
    ),
    Rule(
        "current-acceptance-says-what-its-event-says",
        """
        SELECT current.id, 'current acceptance ' || current.id || ' differs from its event '
            || current.event_id
        FROM review_current_acceptances AS current
        LEFT JOIN acceptance_events AS event ON event.id = current.event_id
        WHERE event.id IS NULL OR event.model_partition_id <> current.model_partition_id
           OR event.note_id <> current.note_id OR event.gate_id <> current.gate_id
           OR event.accepted_note_snapshot_id <> current.note_snapshot_id
           OR event.accepted_gate_snapshot_id <> current.gate_snapshot_id
           OR event.decision <> current.decision
        ORDER BY current.id
        """,
    ),
    Rule(
        "current-decision-is-the-latest-of-its-review",
        """
        SELECT current.id, 'current acceptance ' || current.id || ' is ' || current.decision
            || ', its review ' || pair.id || ' is ' || COALESCE(said.decision, pair.decision)
        FROM review_current_acceptances AS current
        JOIN acceptance_events AS event ON event.id = current.event_id
        JOIN review_pairs AS pair ON pair.id = event.accepted_review_pair_id
        LEFT JOIN (SELECT pair_id, MAX(id) AS id FROM review_decision_events GROUP BY pair_id)
            AS latest ON latest.pair_id = pair.id
        LEFT JOIN review_decision_events AS said ON said.id = latest.id
        WHERE COALESCE(said.decision, pair.decision) <> current.decision
        ORDER BY current.id
        """,
    ),
    Rule(
        "accepted-decisions-were-said",
        """
        SELECT event.id, 'acceptance ' || event.id || ' is ' || event.decision
            || ', which nobody said of pair ' || pair.id
        FROM acceptance_events AS event
        JOIN review_pairs AS pair ON pair.id = event.accepted_review_pair_id
        WHERE event.decision <> pair.decision AND NOT EXISTS (
            SELECT 1 FROM review_decision_events AS said
            WHERE said.pair_id = pair.id AND said.decision = event.decision)
        ORDER BY event.id
        """,
    ),
    Rule(
        "only-completed-pairs-of-the-right-model-are-accepted",
        """
        SELECT event.id, 'acceptance ' || event.id || ' rests on pair ' || pair.id || ', which is '
            || pair.status || ' ' || pair.not_accepted
        FROM acceptance_events AS event
        JOIN review_pairs AS pair ON pair.id = event.accepted_review_pair_id
        WHERE pair.status <> %(completed)s OR pair.not_accepted = %(partition_mismatch)s
        ORDER BY event.id
        """,
    ),
    Rule(
        "undecided-pairs-are-not-accepted",
        """
        SELECT event.id, 'acceptance ' || event.id || ' rests on pair ' || pair.id
            || ', which nobody decided'
        FROM acceptance_events AS event
        JOIN review_pairs AS pair ON pair.id = event.accepted_review_pair_id
        WHERE pair.decision IN (%(error)s, %(unknown)s) AND NOT EXISTS (
            SELECT 1 FROM review_decision_events AS said WHERE said.pair_id = pair.id)
        ORDER BY event.id
        """,
    ),
    Rule(
        "acceptances-stay-in-the-partition-of-their-review",
        """
        SELECT event.id, 'acceptance ' || event.id || ' and its pair ' || pair.id
            || ' are of two partitions'
        FROM acceptance_events AS event
        JOIN review_pairs AS pair ON pair.id = event.accepted_review_pair_id
        JOIN review_jobs AS job ON job.id = pair.job_id
        WHERE job.model_partition_id <> event.model_partition_id
        ORDER BY event.id
        """,
    ),
    Rule(
        "full-reviews-pin-what-was-judged",
        """
        SELECT event.id, 'acceptance ' || event.id || ' pins other texts than its pair ' || pair.id
        FROM acceptance_events AS event
        JOIN review_pairs AS pair ON pair.id = event.accepted_review_pair_id
        JOIN review_jobs AS job ON job.id = pair.job_id
        WHERE event.kind = %(full_review)s
          AND (event.note_id <> pair.note_id OR event.gate_id <> pair.gate_id
               OR event.accepted_note_snapshot_id <> pair.note_snapshot_id
               OR event.accepted_gate_snapshot_id <> pair.gate_snapshot_id
               OR event.text_read_at <> job.created_at)
        ORDER BY event.id
        """,
    ),
    Rule(
        "acks-carry-a-review-of-their-key",
        """
        SELECT event.id, 'ack ' || event.id || ' rests on pair ' || pair.id || ' of another key'
        FROM acceptance_events AS event
        JOIN review_pairs AS pair ON pair.id = event.accepted_review_pair_id
        WHERE event.kind IN (%(ack)s, %(auto_ack)s)
          AND (event.note_id <> pair.note_id OR event.gate_id <> pair.gate_id)
          AND NOT EXISTS (
              SELECT 1 FROM acceptance_events AS carried
              WHERE carried.kind = %(carry_over)s AND carried.id < event.id
                AND carried.note_id = event.note_id AND carried.gate_id = event.gate_id
                AND carried.model_partition_id = event.model_partition_id
                AND carried.accepted_review_pair_id = event.accepted_review_pair_id)
        ORDER BY event.id
        """,
    ),
    Rule(
        "carried-acceptances-keep-the-texts",
        """
        SELECT event.id, 'acceptance ' || event.id || ' was carried over from no such texts'
        FROM acceptance_events AS event
        JOIN review_file_snapshots AS note ON note.id = event.accepted_note_snapshot_id
        JOIN review_file_snapshots AS gate ON gate.id = event.accepted_gate_snapshot_id
        WHERE event.kind = %(carry_over)s AND NOT EXISTS (
            SELECT 1 FROM acceptance_events AS origin
            JOIN review_file_snapshots AS old_note
                ON old_note.id = origin.accepted_note_snapshot_id
            JOIN review_file_snapshots AS old_gate
                ON old_gate.id = origin.accepted_gate_snapshot_id
            WHERE origin.accepted_review_pair_id = event.accepted_review_pair_id
              AND origin.id < event.id
              AND old_note.content_sha256 = note.content_sha256
              AND old_gate.content_sha256 = gate.content_sha256)
        ORDER BY event.id
        """,
    ),
    Rule(
        "superseded-pairs-were-overtaken-by-a-later-text",
        """
        SELECT pair.id, 'pair ' || pair.id || ' counts as superseded, and no later text was accepted'
        FROM review_pairs AS pair JOIN review_jobs AS job ON job.id = pair.job_id
        WHERE pair.not_accepted = %(superseded)s AND NOT EXISTS (
            SELECT 1 FROM acceptance_events AS event
            WHERE event.note_id = pair.note_id AND event.gate_id = pair.gate_id
              AND event.model_partition_id = job.model_partition_id
              AND event.text_read_at > job.created_at
              AND (event.accepted_note_snapshot_id <> pair.note_snapshot_id
                   OR event.accepted_gate_snapshot_id <> pair.gate_snapshot_id))
        ORDER BY pair.id
        """,
    ),
    Rule(
        "no-acceptance-steps-back-to-an-older-text",
        """
        SELECT step.id, 'acceptance ' || step.id || ' pins other text than ' || last.id
            || ', which was read later'
        FROM (SELECT event.id, LAG(event.id) OVER life AS last_id
              FROM (SELECT note_id, gate_id, model_partition_id FROM acceptance_events
                    GROUP BY note_id, gate_id, model_partition_id HAVING COUNT(*) > 1) AS again
              JOIN acceptance_events AS event
                  ON event.note_id = again.note_id AND event.gate_id = again.gate_id
                  AND event.model_partition_id = again.model_partition_id
              WINDOW life AS (PARTITION BY event.note_id, event.gate_id, event.model_partition_id
                              ORDER BY event.id)) AS moved
        JOIN acceptance_events AS step ON step.id = moved.id
        JOIN acceptance_events AS last ON last.id = moved.last_id
        WHERE last.text_read_at > step.text_read_at
          AND (step.accepted_note_snapshot_id <> last.accepted_note_snapshot_id
               OR step.accepted_gate_snapshot_id <> last.accepted_gate_snapshot_id)
        ORDER BY step.id
        """,
    ),
)
