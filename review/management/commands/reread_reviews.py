"""`reread_reviews`: reads stored reviews without a decision again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.ingest.reread import reread_reviews
from review.management.kit.command import ReviewCommand


class Command(ReviewCommand):
    help = (
        "Read stored reviews whose decision is unknown again, with today's rules, and accept what "
        "they decide. Reviews that were answered since are left as they are."
    )
    schema = "reread-reviews/1"
    examples = ("commonplace reread_reviews --dry-run",)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would be decided")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        result = reread_reviews(
            actor=options["actor"],
            dry_run=options["dry_run"],
            config=settings.current(),
            now=self.now,
        )
        self.show(
            result,
            (
                f"{item.decision}: {item.note_path} {item.gate_id}"
                f" (review pair {item.review_pair_id})"
                + (f", not accepted: {item.not_accepted_because}" * bool(item.not_accepted_because))
                for item in result.decided
            ),
        )
        if self.as_json:
            return
        verb = "would be decided" if result.dry_run else "decided"
        self.notice(f"{len(result.decided)} {verb}, {result.still_unknown} still unknown")
