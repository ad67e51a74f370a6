"""`override_acceptance`: a person accepts a text without a review, and says why."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.acceptance.decide import OverrideRequest, override_acceptance
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand, request_of
from review.management.kit.options import partition, text, word


class Command(ReviewCommand):
    help = (
        "Accept today's texts of a note and gates as passed, without any review: a person says "
        "'leave it'. It keeps the pairs out of the warn queue until note or gate change."
    )
    schema = "override-acceptance/1"
    examples = (
        "commonplace override_acceptance --model claude-opus-4-6 kb/notes/a.md prose/x --reason 'a quotation' --actor human:ana",
    )
    exit_codes = {
        ExitCode.CONFLICT: "a later text was accepted in the meantime; nothing written",
        ExitCode.INPUT_REJECTED: "no such note or gate; near ones are named",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "note", type=text, metavar="NOTE_PATH", help="the note, by its path below the root"
        )
        parser.add_argument(
            "gates", nargs="+", type=text, metavar="GATE_ID", help="gates, by id or path"
        )
        parser.add_argument(
            "--model", type=partition, required=True, metavar="PARTITION", help="whose acceptances"
        )
        parser.add_argument(
            "--reason", type=text, required=True, metavar="R", help="why it is accepted"
        )
        parser.add_argument("--actor", type=word, required=True, metavar="A", help="who decides")

    def handle(self, *args: Any, **options: Any) -> None:
        request = request_of(OverrideRequest, options, model_partition=options["model"])
        with open_corpus(settings.current()) as corpus:
            result = override_acceptance(request, corpus=corpus, now=self.now)
        self.show(
            result,
            (
                f"overridden: {pair.note_path} {pair.gate_id} ({result.model_partition})"
                for pair in result.overridden
            ),
        )
