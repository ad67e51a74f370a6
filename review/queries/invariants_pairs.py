"""Invariants of pairs: texts, findings and decisions stand where a review is, and nowhere else."""

from __future__ import annotations

from review.queries.invariant_rules import Rule

PAIR_RULES = (
    Rule(
        "completed-pairs-have-their-text",
        """
        SELECT pair.id, 'pair ' || pair.id || ' of job ' || pair.job_id || ' has no text'
        FROM review_pairs AS pair LEFT JOIN review_texts AS body ON body.pair_id = pair.id
        WHERE pair.status = %(completed)s AND body.pair_id IS NULL
        ORDER BY pair.id
        """,
    ),
    Rule(
        "only-completed-pairs-have-a-text",
        """
        SELECT pair.id, 'pair ' || pair.id || ' is ' || pair.status || ' and has a text'
        FROM review_texts AS body JOIN review_pairs AS pair ON pair.id = body.pair_id
        WHERE pair.status <> %(completed)s
        ORDER BY pair.id
        """,
    ),
    Rule(
        "completed-pairs-have-a-decision-and-a-result-file",
        """
        SELECT pair.id, 'pair ' || pair.id || ' is ' || pair.status || ', decided '''
            || pair.decision || ''', its result file is ''' || pair.result_path || ''''
        FROM review_pairs AS pair
        WHERE (pair.status = %(completed)s
               AND (pair.decision = '' OR pair.reviewed_at IS NULL OR pair.result_path = ''))
           OR (pair.status <> %(completed)s
               AND (pair.decision <> '' OR pair.reviewed_at IS NOT NULL OR pair.result_path <> ''
                    OR pair.decision_source <> '' OR pair.not_accepted <> ''))
        ORDER BY pair.id
        """,
    ),
    Rule(
        "undecided-pairs-say-so",
        """
        SELECT pair.id, 'pair ' || pair.id || ' is decided ' || pair.decision
            || ' and says about its acceptance: ''' || pair.not_accepted || ''''
        FROM review_pairs AS pair
        WHERE pair.status = %(completed)s AND CASE
            WHEN pair.not_accepted = %(decision_error)s THEN pair.decision <> %(error)s
            WHEN pair.not_accepted = %(decision_unknown)s THEN pair.decision <> %(unknown)s
            ELSE pair.decision IN (%(error)s, %(unknown)s) AND NOT EXISTS (
                SELECT 1 FROM review_decision_events AS said WHERE said.pair_id = pair.id) END
        ORDER BY pair.id
        """,
    ),
    Rule(
        "accepted-pairs-have-an-acceptance",
        """
        SELECT pair.id, 'pair ' || pair.id || ' counts as accepted, and no acceptance rests on it'
        FROM review_pairs AS pair
        WHERE pair.status = %(completed)s AND pair.not_accepted = '' AND NOT EXISTS (
            SELECT 1 FROM acceptance_events AS event WHERE event.accepted_review_pair_id = pair.id)
        ORDER BY pair.id
        """,
    ),
    Rule(
        "only-completed-pairs-have-findings",
        """
        SELECT pair.id, 'pair ' || pair.id || ' is ' || pair.status || ' and has '
            || COUNT(*) || ' findings'
        FROM review_findings AS finding JOIN review_pairs AS pair ON pair.id = finding.pair_id
        WHERE pair.status <> %(completed)s
        GROUP BY pair.id, pair.status
        ORDER BY pair.id
        """,
    ),
    Rule(
        "findings-are-numbered-from-1-without-a-gap",
        """
        SELECT finding.pair_id, 'pair ' || finding.pair_id || ' has ' || COUNT(*)
            || ' findings, numbered ' || MIN(finding.ordinal) || ' to ' || MAX(finding.ordinal)
        FROM review_findings AS finding
        GROUP BY finding.pair_id
        HAVING MIN(finding.ordinal) <> 1 OR MAX(finding.ordinal) <> COUNT(*)
        ORDER BY finding.pair_id
        """,
    ),
    Rule(
        "people-decide-completed-pairs-of-the-right-model",
        """
        SELECT said.id, 'decision ' || said.id || ' is about pair ' || pair.id || ', which is '
            || pair.status || ' ' || pair.not_accepted
        FROM review_decision_events AS said JOIN review_pairs AS pair ON pair.id = said.pair_id
        WHERE pair.status <> %(completed)s OR pair.not_accepted = %(partition_mismatch)s
        ORDER BY said.id
        """,
    ),
)
