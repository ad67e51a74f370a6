"""Invariants of jobs: their pairs agree with their status, and their log tells a legal life."""

from __future__ import annotations

from review.queries.invariant_rules import Rule

JOB_RULES = (
    Rule(
        "jobs-have-the-pairs-they-were-made-with",
        """
        SELECT job.id, 'job ' || job.id || ' was made with ' || job.pair_count || ' pairs and has '
            || COUNT(pair.id)
        FROM review_jobs AS job LEFT JOIN review_pairs AS pair ON pair.job_id = job.id
        GROUP BY job.id, job.pair_count
        HAVING job.pair_count <> COUNT(pair.id) OR COALESCE(MAX(pair.ordinal), 0) <> COUNT(pair.id)
        ORDER BY job.id
        """,
    ),
    Rule(
        "completed-jobs-have-only-completed-pairs",
        """
        SELECT pair.id, 'pair ' || pair.id || ' is ' || pair.status || ', its job ' || job.id
            || ' completed'
        FROM review_pairs AS pair JOIN review_jobs AS job ON job.id = pair.job_id
        WHERE job.status = %(job_completed)s AND pair.status <> %(completed)s
        ORDER BY pair.id
        """,
    ),
    Rule(
        "open-jobs-have-only-pending-pairs",
        """
        SELECT pair.id, 'pair ' || pair.id || ' is ' || pair.status || ', its job ' || job.id || ' '
            || job.status
        FROM review_pairs AS pair JOIN review_jobs AS job ON job.id = pair.job_id
        WHERE job.status IN (%(queued)s, %(running)s) AND pair.status <> %(pending)s
        ORDER BY pair.id
        """,
    ),
    Rule(
        "failed-jobs-have-no-pending-pair",
        """
        SELECT pair.id, 'pair ' || pair.id || ' is pending, its job ' || job.id || ' failed'
        FROM review_pairs AS pair JOIN review_jobs AS job ON job.id = pair.job_id
        WHERE job.status = %(failed)s AND pair.status = %(pending)s
        ORDER BY pair.id
        """,
    ),
    Rule(
        "jobs-that-failed-for-missing-pairs-miss-one-and-keep-the-output",
        """
        SELECT job.id, 'job ' || job.id || ' failed as ' || job.failure_code
            || ', but no pair is missing or its output was not kept'
        FROM review_jobs AS job
        WHERE job.status = %(failed)s AND job.failure_code IN (%(pairs_missing)s, %(all_or_nothing)s)
          AND (NOT EXISTS (SELECT 1 FROM review_pairs AS pair
                           WHERE pair.job_id = job.id AND pair.status = %(missing)s)
               OR NOT EXISTS (SELECT 1 FROM review_job_outputs AS kept WHERE kept.job_id = job.id))
        ORDER BY job.id
        """,
    ),
    Rule(
        "running-jobs-say-who-took-them",
        """
        SELECT job.id, 'job ' || job.id || ' is running and says not who took it'
        FROM review_jobs AS job
        WHERE job.status = %(running)s AND (job.claimed_by = '' OR job.started_at IS NULL)
        ORDER BY job.id
        """,
    ),
    Rule(
        "jobs-hold-what-their-grouping-says",
        """
        SELECT job.id, 'job ' || job.id || ' is grouped by ' || job.grouping || ' and has '
            || COUNT(DISTINCT pair.note_id) || ' notes, ' || COUNT(DISTINCT pair.gate_id) || ' gates'
        FROM review_jobs AS job JOIN review_pairs AS pair ON pair.job_id = job.id
        GROUP BY job.id, job.grouping
        HAVING (job.grouping = %(by_note)s AND COUNT(DISTINCT pair.note_id) > 1)
            OR (job.grouping = %(by_gate)s AND COUNT(DISTINCT pair.gate_id) > 1)
        ORDER BY job.id
        """,
    ),
    Rule(
        "no-two-jobs-share-a-file",
        """
        SELECT MIN(job.id), 'job ' || MIN(job.id) || ' and ' || (COUNT(*) - 1)
            || ' more have the prompt ' || job.prompt_path
        FROM review_jobs AS job GROUP BY job.prompt_path HAVING COUNT(*) > 1
        ORDER BY MIN(job.id)
        """,
    ),
    Rule(
        "replacements-are-later-jobs-of-the-same-kind",
        """
        SELECT job.id, 'job ' || job.id || ' replaces ' || old.id
            || ', which is later, of another kind, or not given up for it'
        FROM review_jobs AS job JOIN review_jobs AS old ON old.id = job.replaces_id
        WHERE job.id <= old.id OR job.model_partition_id <> old.model_partition_id
           OR job.grouping <> old.grouping OR job.lens <> old.lens
           OR old.status <> %(failed)s OR old.failure_code <> %(replaced)s
        ORDER BY job.id
        """,
    ),
    Rule(
        "replaced-jobs-have-a-replacement",
        """
        SELECT old.id, 'job ' || old.id || ' was given up as replaced, and no job replaces it'
        FROM review_jobs AS old LEFT JOIN review_jobs AS job ON job.replaces_id = old.id
        WHERE old.failure_code = %(replaced)s AND job.id IS NULL
        ORDER BY old.id
        """,
    ),
    Rule(
        "replacements-ask-for-what-was-missing",
        """
        SELECT pair.id, 'pair ' || pair.id || ' of the replacement ' || job.id
            || ' was not missing in job ' || job.replaces_id
        FROM review_jobs AS job JOIN review_pairs AS pair ON pair.job_id = job.id
        LEFT JOIN review_pairs AS old ON old.job_id = job.replaces_id AND old.note_id = pair.note_id
            AND old.gate_id = pair.gate_id AND old.status = %(missing)s
        WHERE job.replaces_id IS NOT NULL AND old.id IS NULL
        ORDER BY pair.id
        """,
    ),
    Rule(
        "the-log-of-a-job-is-a-legal-life",
        """
        SELECT step.id, 'job ' || step.job_id || ' moved from '''
            || step.from_status || ''' to ' || step.to_status || ' after '
            || COALESCE(step.before, 'nothing')
        FROM (SELECT id, job_id, from_status, to_status, note,
                     LAG(to_status) OVER (PARTITION BY job_id ORDER BY id) AS before
              FROM review_job_events) AS step
        WHERE CASE
            WHEN step.before IS NULL THEN step.from_status <> '' OR step.to_status <> %(queued)s
            WHEN step.from_status <> step.before THEN 1 = 1
            WHEN step.note = %(pruned)s AND step.to_status = step.from_status
                THEN step.from_status NOT IN (%(job_completed)s, %(failed)s)
            WHEN step.from_status = %(queued)s
                THEN step.to_status NOT IN (%(running)s, %(job_completed)s, %(failed)s)
            WHEN step.from_status IN (%(running)s, %(failed)s)
                THEN step.to_status NOT IN (%(job_completed)s, %(failed)s)
            ELSE 1 = 1 END
        ORDER BY step.id
        """,
    ),
    Rule(
        "jobs-are-where-their-log-left-them",
        """
        SELECT job.id, 'job ' || job.id || ' is ' || job.status || ', its log says '
            || COALESCE(last.to_status, 'nothing')
        FROM review_jobs AS job
        LEFT JOIN (SELECT job_id, MAX(id) AS id FROM review_job_events GROUP BY job_id) AS latest
            ON latest.job_id = job.id
        LEFT JOIN review_job_events AS last ON last.id = latest.id
        WHERE last.to_status IS NULL OR last.to_status <> job.status
        ORDER BY job.id
        """,
    ),
)
