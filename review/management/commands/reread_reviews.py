"""`reread_reviews`: reads stored reviews without a decision again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.management.kit.command import ReviewCommand


class Command(ReviewCommand):
    """Read stored reviews without a decision again."""

    help = (
        "Read stored reviews whose decision is unknown again, with today's rules, and accept what "
        "they decide. Reviews that were answered since are left as they are."
    )
    schema = "reread-reviews/1"
    store_use = store.Use.WRITE
    examples = ("commonplace reread_reviews --dry-run",)

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--dry-run` and the actor."""
        parser.add_argument("--dry-run", action="store_true", help="say what would be decided")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Read the reviews, and print each decision."""
        from review.ingest.reread import reread_reviews

        result = reread_reviews(
            actor=options["actor"],
            dry_run=options["dry_run"],
            config=settings.current(),
            now=self.now,
        )
        if self.as_json:
            self.write_json(result)
            return
        self.write_lines(
            f"{item.decision}: {item.note_path} {item.gate_id} (review pair {item.review_pair_id})"
            + (f", not accepted: {item.not_accepted_because}" if item.not_accepted_because else "")
            for item in result.decided
        )
        verb = "would be decided" if result.dry_run else "decided"
        self.notice(f"{len(result.decided)} {verb}, {result.still_unknown} still unknown")
