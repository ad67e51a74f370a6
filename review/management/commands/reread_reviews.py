"""Read stored reviews whose decision is unknown again, with today's rules, and accept what they
decide. Reviews that were answered since are left as they are.

    commonplace reread_reviews --dry-run
"""

from __future__ import annotations

from review.management.kit import ACTOR, Options, ReviewCommand
from review.reviews.needs_a_look import reread_reviews


class Command(ReviewCommand):
    arguments = {"--dry-run": "say what would be decided", **ACTOR}

    def run(self, options: Options) -> None:
        result = reread_reviews(
            actor=options["actor"], dry_run=options["dry_run"], corpus=self.corpus, now=self.now
        )
        verb = "would be decided" if result.dry_run else "decided"
        self.show(
            result,
            (
                f"{item.decision}: {item.note_path} {item.gate_id}"
                f" (review pair {item.review_pair_id})"
                + (f", not accepted: {item.not_accepted_because}" * bool(item.not_accepted_because))
                for item in result.decided
            ),
            notices=[f"{len(result.decided)} {verb}, {result.still_unknown} still unknown"],
        )
