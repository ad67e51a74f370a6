"""`set_decision`: a person says how a review decided that could not be read."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.acceptance.decide import set_decision
from review.errors import ExitCode
from review.management.kit.command import ReviewCommand
from review.management.kit.options import positive_int, text, word
from review.vocabulary import ACCEPTING_DECISIONS, Decision


class Command(ReviewCommand):
    help = (
        "Say what a completed review decided, in the name of whoever read it; the pair is accepted "
        "with that. What the parser read is kept beside it."
    )
    schema = "set-decision/1"
    examples = (
        "commonplace set_decision --review-pair-id 31 --as warn --reason 'it describes one' --actor human:ana",
    )
    exit_codes = {
        ExitCode.CONFLICT: "no review to decide, another model's review, or superseded (the decision is kept)",
        ExitCode.INPUT_REJECTED: "no such pair",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--review-pair-id",
            type=positive_int,
            required=True,
            metavar="N",
            help="whose review is decided",
        )
        parser.add_argument(
            "--as",
            dest="decision",
            choices=[decision.value for decision in ACCEPTING_DECISIONS],
            required=True,
            help="what its review decides",
        )
        parser.add_argument("--reason", type=text, required=True, metavar="R", help="why")
        parser.add_argument("--actor", type=word, required=True, metavar="A", help="who decides")

    def handle(self, *args: Any, **options: Any) -> None:
        result = set_decision(
            options["review_pair_id"],
            Decision(options["decision"]),
            reason=options["reason"],
            actor=options["actor"],
            config=settings.current(),
            now=self.now,
        )
        accepted = "accepted" if result.accepted else "not accepted"
        what = f"{result.decision} (was {result.was}), {accepted}"
        self.show(result, [f"{what}: {result.note_path} {result.gate_id}"])
        if not result.accepted:
            self.warn("superseded: a later text is accepted; the decision is kept as evidence")
        self.finish(ExitCode.DONE if result.accepted else ExitCode.CONFLICT)
