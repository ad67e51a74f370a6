"""Ways to break a store of the story with SQL, each with the invariant that it breaks."""

# ruff: noqa: S608 - constants of this file
from __future__ import annotations

PENDING = "(SELECT MIN(id) FROM review_pairs WHERE status = 'pending')"
MISMATCHED = "(SELECT MIN(id) FROM review_pairs WHERE not_accepted = 'partition-mismatch')"
ACCEPTED = "(SELECT MIN(accepted_review_pair_id) FROM acceptance_events)"
ONE_EVENT = "id = (SELECT MIN(id) FROM acceptance_events)"
FAILED = "status = 'failed', completed_at = created_at, failure_reason = 'so', failure_code ="

# The invariant, what is done to the store, which way it is.
BREAKS: list[tuple[str, str, str]] = [
    (
        "current-acceptances-have-an-event",
        "UPDATE review_current_acceptances SET note_id = gate_id, gate_id = note_id"
        " WHERE id = (SELECT MIN(id) FROM review_current_acceptances)",
        "of-no-key",
    ),
    (
        "pairs-pin-texts-of-their-files",
        f"UPDATE review_pairs SET note_snapshot_id = gate_snapshot_id WHERE id = {PENDING}",
        "the-gate's-for-the-note's",
    ),
    (
        "pairs-pin-texts-of-their-files",
        f"UPDATE review_pairs SET gate_snapshot_id = note_snapshot_id WHERE id = {PENDING}",
        "the-note's-for-the-gate's",
    ),
    (
        "acceptances-pin-texts-of-their-files",
        "UPDATE acceptance_events SET accepted_note_snapshot_id = accepted_gate_snapshot_id"
        f" WHERE {ONE_EVENT}",
        "the-gate's-for-the-note's",
    ),
    (
        "jobs-have-the-pairs-they-were-made-with",
        "UPDATE review_jobs SET pair_count = pair_count + 1",
        "one-lost",
    ),
    (
        "jobs-have-the-pairs-they-were-made-with",
        f"UPDATE review_pairs SET ordinal = 9 WHERE id = {PENDING}",
        "a-gap-in-the-numbers",
    ),
    (
        "pairs-agree-with-the-status-of-their-job",
        "UPDATE review_jobs SET status = 'completed', completed_at = created_at"
        " WHERE status = 'queued'",
        "closed-too-early",
    ),
    (
        "pairs-agree-with-the-status-of-their-job",
        "UPDATE review_jobs SET status = 'queued', completed_at = NULL WHERE status = 'completed'",
        "opened-again",
    ),
    (
        "pairs-agree-with-the-status-of-their-job",
        f"UPDATE review_jobs SET {FAILED} 'operator' WHERE status = 'queued'",
        "forgotten-pairs",
    ),
    (
        "jobs-are-where-their-log-left-them",
        "UPDATE review_jobs SET status = 'queued', started_at = NULL WHERE status = 'running'",
        "unclaimed-in-silence",
    ),
    ("jobs-are-where-their-log-left-them", "DELETE FROM review_job_events", "no-log"),
    ("completed-pairs-have-their-text", "DELETE FROM review_texts", "lost"),
    (
        "accepted-pairs-have-an-acceptance",
        f"UPDATE acceptance_events SET accepted_review_pair_id = {ACCEPTED}"
        " WHERE accepted_review_pair_id IS NOT NULL",
        "evidence-moved",
    ),
    (
        "current-acceptance-is-the-latest-event",
        "DELETE FROM review_current_acceptances",
        "lost",
    ),
    (
        "current-acceptance-is-the-latest-event",
        "UPDATE review_current_acceptances SET event_id = (SELECT MIN(event.id)"
        " FROM acceptance_events AS event WHERE event.note_id = review_current_acceptances.note_id"
        " AND event.gate_id = review_current_acceptances.gate_id AND event.model_partition_id ="
        " review_current_acceptances.model_partition_id)",
        "an-earlier-one",
    ),
    (
        "current-acceptance-is-the-latest-event",
        "UPDATE review_current_acceptances SET decision = 'fail'",
        "another-decision",
    ),
    (
        "current-acceptance-is-the-latest-event",
        "UPDATE review_current_acceptances SET note_snapshot_id = gate_snapshot_id",
        "another-text",
    ),
    (
        "current-acceptance-is-the-latest-event",
        "UPDATE review_current_acceptances SET event_id = (SELECT MIN(id) FROM acceptance_events)",
        "of-another-key",
    ),
    (
        "current-decision-is-the-latest-of-its-review",
        "INSERT INTO review_decision_events (pair_id, decision, actor, reason, at)"
        " SELECT accepted_review_pair_id, 'fail', 'x', 'y', accepted_at FROM acceptance_events"
        " WHERE decision = 'pass' AND accepted_review_pair_id IS NOT NULL",
        "decided-and-not-moved",
    ),
    (
        "accepted-decisions-were-said",
        "UPDATE acceptance_events SET decision = 'fail' WHERE decision = 'pass'",
        "made-up",
    ),
    (
        "accepted-decisions-were-said",
        f"UPDATE acceptance_events SET accepted_review_pair_id = {PENDING} WHERE {ONE_EVENT}",
        "a-pending-pair",
    ),
    (
        "acceptances-rest-on-reviews-of-their-partition",
        f"UPDATE acceptance_events SET accepted_review_pair_id = {MISMATCHED} WHERE {ONE_EVENT}",
        "another-model's",
    ),
    (
        "accepted-decisions-were-said",
        "UPDATE acceptance_events SET accepted_review_pair_id ="
        f" (SELECT MIN(id) FROM review_pairs WHERE decision = 'error') WHERE {ONE_EVENT}",
        "an-error",
    ),
    (
        "accepted-decisions-were-said",
        "DELETE FROM review_decision_events",
        "decision-lost",
    ),
    (
        "acceptances-rest-on-reviews-of-their-partition",
        "UPDATE acceptance_events SET model_partition_id ="
        f" (SELECT MAX(id) FROM review_model_partitions) WHERE {ONE_EVENT}",
        "another",
    ),
    (
        "full-reviews-pin-what-was-judged",
        "UPDATE acceptance_events SET text_read_at = '2031-01-01 00:00:00+00:00'",
        "another-moment",
    ),
    (
        "full-reviews-pin-what-was-judged",
        "UPDATE acceptance_events SET accepted_note_snapshot_id = (SELECT MAX(text.id)"
        " FROM review_file_snapshots AS text WHERE text.path_id = acceptance_events.note_id)",
        "today's-text",
    ),
    (
        "superseded-pairs-were-overtaken-by-a-later-text",
        "UPDATE review_pairs SET not_accepted = 'superseded' WHERE decision = 'fail'",
        "by-nothing",
    ),
    (
        "superseded-pairs-were-overtaken-by-a-later-text",
        "UPDATE review_jobs SET created_at = '2031-01-01 00:00:00+00:00'",
        "by-an-older-text",
    ),
    (
        "no-acceptance-steps-back-to-an-older-text",
        "UPDATE acceptance_events SET text_read_at = '2001-01-01 00:00:00+00:00'"
        " WHERE kind = 'ack'",
        "an-ack-of-long-ago",
    ),
    (
        "snapshots-have-their-digests",
        "UPDATE review_file_snapshots SET text = text || ' '",
        "a-space-more",
    ),
    (
        "snapshots-have-their-digests",
        "UPDATE review_file_snapshots SET byte_size = byte_size + 1",
        "another-size",
    ),
    (
        "raw-outputs-have-their-digests",
        "UPDATE review_job_outputs SET content_sha256 ="
        f" '{'0' * 64}' WHERE id = (SELECT MIN(id) FROM review_job_outputs)",
        "another-digest",
    ),
]  # fmt: skip
