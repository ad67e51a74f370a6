"""Ways to break a store of the story with SQL, each with the invariant that it breaks."""

# ruff: noqa: S608 - constants of this file
from __future__ import annotations

from importlib import import_module

VIEW = import_module("review.migrations.0002_view_and_identity").VIEW
PENDING = "(SELECT MIN(id) FROM review_pairs WHERE status = 'pending')"
MISMATCHED = "(SELECT MIN(id) FROM review_pairs WHERE not_accepted = 'partition-mismatch')"
ACCEPTED = "(SELECT MIN(accepted_review_pair_id) FROM acceptance_events)"
ONE_EVENT = "id = (SELECT MIN(id) FROM acceptance_events)"
FAILED = "status = 'failed', completed_at = created_at, failure_reason = 'so', failure_code ="


def replace_view(old: str, new: str) -> tuple[str, ...]:
    """Statements that make the view say something else."""
    return ("DROP VIEW current_gate_acceptances", VIEW.replace(old, new))


# Each column of the view, with what it may wrongly show instead.
COLUMNS = {
    "note_path": ("note.path", "gate.path"),
    "gate_path": ("gate.path", "note.path"),
    "model_partition": ("part.name", "'another'"),
    "kind": ("event.kind", "'override'"),
    "accepted_review_pair_id": ("event.accepted_review_pair_id", "NULLIF(event.id, event.id)"),
    "decision": ("event.decision", "'none'"),
    "accepted_note_snapshot_id": (
        "event.accepted_note_snapshot_id", "event.accepted_gate_snapshot_id",
    ),
    "accepted_gate_snapshot_id": ("event.accepted_gate_snapshot_id", "event.id + 9999"),
    "accepted_note_hash": ("note_text.content_sha256", "gate_text.content_sha256"),
    "accepted_gate_hash": ("gate_text.content_sha256", "note_text.content_sha256"),
    "accepted_at": ("event.accepted_at", "event.text_read_at"),
    "actor": ("event.actor", "'someone'"),
}  # fmt: skip

# The rule, what is done to the store, which way it is.
BREAKS: list[tuple[str, str | tuple[str, ...], str]] = [
    ("the-store-has-one-identity", "UPDATE review_store SET store_id = ''", "nameless"),
    ("job-ids-are-below-the-allocator", "UPDATE review_store SET next_job_id = 2", "restored-older"),
    *(
        (
            "the-view-shows-the-current-acceptances",
            replace_view(f"{said} AS {column}", f"{other} AS {column}"),
            f"another-{column}",
        )
        for column, (said, other) in COLUMNS.items()
    ),
    (
        "the-view-shows-the-current-acceptances",
        (f"{VIEW.replace('CREATE VIEW current_gate_acceptances', 'CREATE VIEW spare')}",
         "DROP VIEW current_gate_acceptances",
         "CREATE VIEW current_gate_acceptances AS SELECT * FROM spare WHERE decision = 'pass'"),
        "fewer-rows",
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
        "completed-jobs-have-only-completed-pairs",
        "UPDATE review_jobs SET status = 'completed', completed_at = created_at"
        " WHERE status = 'queued'",
        "closed-too-early",
    ),
    (
        "open-jobs-have-only-pending-pairs",
        "UPDATE review_jobs SET status = 'queued', completed_at = NULL WHERE status = 'completed'",
        "opened-again",
    ),
    (
        "failed-jobs-have-no-pending-pair",
        f"UPDATE review_jobs SET {FAILED} 'operator' WHERE status = 'queued'",
        "forgotten-pairs",
    ),
    (
        "jobs-that-failed-for-missing-pairs-miss-one-and-keep-the-output",
        "DELETE FROM review_job_outputs",
        "output-lost",
    ),
    (
        "jobs-that-failed-for-missing-pairs-miss-one-and-keep-the-output",
        f"UPDATE review_jobs SET {FAILED} 'pairs-missing' WHERE status = 'completed'",
        "none-is-missing",
    ),
    (
        "running-jobs-say-who-took-them",
        "UPDATE review_jobs SET claimed_by = '' WHERE status = 'running'",
        "nobody",
    ),
    ("jobs-hold-what-their-grouping-says", "UPDATE review_jobs SET grouping = 'gate'", "two-gates"),
    (
        "jobs-hold-what-their-grouping-says",
        "UPDATE review_pairs SET note_id = gate_id WHERE ordinal = 2",
        "two-notes",
    ),
    ("no-two-jobs-share-a-file", "UPDATE review_jobs SET prompt_path = 'prompt.md'", "one-prompt"),
    (
        "replacements-are-later-jobs-of-the-same-kind",
        "UPDATE review_jobs SET lens = 'links' WHERE replaces_id IS NOT NULL",
        "another-lens",
    ),
    (
        "replacements-are-later-jobs-of-the-same-kind",
        "UPDATE review_jobs SET failure_code = 'operator' WHERE failure_code = 'replaced'",
        "not-given-up-for-it",
    ),
    (
        "replacements-are-later-jobs-of-the-same-kind",
        "UPDATE review_jobs SET replaces_id = (SELECT MAX(id) FROM review_jobs)"
        " WHERE replaces_id IS NOT NULL",
        "a-later-one",
    ),
    (
        "replaced-jobs-have-a-replacement",
        "UPDATE review_jobs SET replaces_id = NULL",
        "link-lost",
    ),
    (
        "replacements-ask-for-what-was-missing",
        "UPDATE review_jobs SET replaces_id = 1 WHERE replaces_id IS NOT NULL",
        "another-job's-pairs",
    ),
    (
        "the-log-of-a-job-is-a-legal-life",
        "UPDATE review_job_events SET from_status = 'queued' WHERE from_status = 'running'",
        "not-from-where-it-was",
    ),
    (
        "the-log-of-a-job-is-a-legal-life",
        "DELETE FROM review_job_events WHERE from_status = ''",
        "no-beginning",
    ),
    (
        "the-log-of-a-job-is-a-legal-life",
        "INSERT INTO review_job_events (job_id, from_status, to_status, actor, note, at)"
        " SELECT id, 'completed', 'running', 'x', '', created_at FROM review_jobs"
        " WHERE status = 'completed'",
        "back-to-life",
    ),
    (
        "the-log-of-a-job-is-a-legal-life",
        "INSERT INTO review_job_events (job_id, from_status, to_status, actor, note, at)"
        " SELECT id, 'queued', 'queued', 'x', 'artifacts pruned', created_at FROM review_jobs"
        " WHERE status = 'queued'",
        "pruned-while-open",
    ),
    (
        "the-log-of-a-job-is-a-legal-life",
        "INSERT INTO review_job_events (job_id, from_status, to_status, actor, note, at)"
        " SELECT id, 'completed', 'completed', 'x', '', created_at FROM review_jobs"
        " WHERE status = 'completed'",
        "completed-twice",
    ),
    (
        "jobs-are-where-their-log-left-them",
        "UPDATE review_jobs SET status = 'queued', started_at = NULL WHERE status = 'running'",
        "unclaimed-in-silence",
    ),
    ("jobs-are-where-their-log-left-them", "DELETE FROM review_job_events", "no-log"),
    ("completed-pairs-have-their-text", "DELETE FROM review_texts", "lost"),
    (
        "only-completed-pairs-have-a-text",
        f"INSERT INTO review_texts (pair_id, text) VALUES ({PENDING}, 'early')",
        "of-a-pending-pair",
    ),
    (
        "completed-pairs-have-a-decision-and-a-result-file",
        "UPDATE review_pairs SET result_path = ''",
        "no-file",
    ),
    (
        "completed-pairs-have-a-decision-and-a-result-file",
        f"UPDATE review_pairs SET not_accepted = 'superseded' WHERE id = {PENDING}",
        "settled-while-pending",
    ),
    (
        "undecided-pairs-say-so",
        "UPDATE review_pairs SET not_accepted = '' WHERE decision = 'error'",
        "as-if-accepted",
    ),
    (
        "undecided-pairs-say-so",
        "UPDATE review_pairs SET not_accepted = 'decision-error' WHERE decision = 'unknown'",
        "the-other-word",
    ),
    (
        "undecided-pairs-say-so",
        "UPDATE review_pairs SET not_accepted = 'decision-unknown' WHERE decision = 'pass'",
        "of-a-pass",
    ),
    (
        "accepted-pairs-have-an-acceptance",
        f"UPDATE acceptance_events SET accepted_review_pair_id = {ACCEPTED}"
        " WHERE accepted_review_pair_id IS NOT NULL",
        "evidence-moved",
    ),
    (
        "only-completed-pairs-have-findings",
        f"UPDATE review_findings SET pair_id = {PENDING}"
        " WHERE id = (SELECT MIN(id) FROM review_findings)",
        "of-a-pending-pair",
    ),
    (
        "findings-are-numbered-from-1-without-a-gap",
        "UPDATE review_findings SET ordinal = ordinal + 50",
        "not-from-1",
    ),
    (
        "findings-are-numbered-from-1-without-a-gap",
        "DELETE FROM review_findings WHERE ordinal = 1",
        "one-lost",
    ),
    (
        "people-decide-completed-pairs-of-the-right-model",
        f"UPDATE review_decision_events SET pair_id = {PENDING}",
        "a-pending-pair",
    ),
    (
        "people-decide-completed-pairs-of-the-right-model",
        f"UPDATE review_decision_events SET pair_id = {MISMATCHED}",
        "another-model's",
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
        "current-acceptance-says-what-its-event-says",
        "UPDATE review_current_acceptances SET decision = 'fail'",
        "another-decision",
    ),
    (
        "current-acceptance-says-what-its-event-says",
        "UPDATE review_current_acceptances SET note_snapshot_id = gate_snapshot_id",
        "another-text",
    ),
    (
        "current-acceptance-says-what-its-event-says",
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
        "only-completed-pairs-of-the-right-model-are-accepted",
        f"UPDATE acceptance_events SET accepted_review_pair_id = {PENDING} WHERE {ONE_EVENT}",
        "a-pending-pair",
    ),
    (
        "only-completed-pairs-of-the-right-model-are-accepted",
        f"UPDATE acceptance_events SET accepted_review_pair_id = {MISMATCHED} WHERE {ONE_EVENT}",
        "another-model's",
    ),
    (
        "undecided-pairs-are-not-accepted",
        "UPDATE acceptance_events SET accepted_review_pair_id ="
        f" (SELECT MIN(id) FROM review_pairs WHERE decision = 'error') WHERE {ONE_EVENT}",
        "an-error",
    ),
    (
        "undecided-pairs-are-not-accepted",
        "DELETE FROM review_decision_events",
        "decision-lost",
    ),
    (
        "acceptances-stay-in-the-partition-of-their-review",
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
        "acks-carry-a-review-of-their-key",
        "UPDATE acceptance_events SET accepted_review_pair_id = (SELECT MAX(pair.id)"
        " FROM review_pairs AS pair WHERE pair.decision = 'pass' AND pair.not_accepted = '')"
        " WHERE kind = 'ack'",
        "another-note's",
    ),
    (
        "carried-acceptances-keep-the-texts",
        f"UPDATE acceptance_events SET accepted_review_pair_id = {ACCEPTED}"
        " WHERE kind = 'carry-over'",
        "another-text's",
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
