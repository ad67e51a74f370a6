"""`dispose_finding`: settles a finding, or opens it again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.acceptance.documents import DisposedJson
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand, request_of
from review.management.kit.options import text, word
from review.queue.triage import DispositionRequest, dispose_finding
from review.vocabulary import DispositionState


class Command(ReviewCommand):
    help = (
        "Record what was decided about a finding: fixed (it opens again when a review reports it "
        "again), rejected (for good), deferred (until the note changes), or open."
    )
    schema = "dispose-finding/1"
    examples = (
        "commonplace dispose_finding 3f2a9c1b7d5e8046 --as rejected --reason 'a setting needs no source'",
    )
    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown fingerprint; near ones are named"}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "fingerprint", type=word, metavar="FINGERPRINT", help="as warn_selector shows it"
        )
        parser.add_argument(
            "--as",
            dest="state",
            choices=DispositionState.values,
            required=True,
            help="what becomes of it",
        )
        parser.add_argument("--reason", type=text, metavar="R", help="why")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:

        config = settings.current()
        request = request_of(DispositionRequest, options, reason=options["reason"] or "")
        with open_corpus(config) as corpus:
            result = dispose_finding(
                options["fingerprint"], request, corpus=corpus, config=config, now=self.now
            )
        self.show(result, [_line(result)])


def _line(result: DisposedJson) -> str:
    was = f" (was {result.was})" if result.was else ""
    text = " ".join(result.text.split())
    return f"{result.disposition}{was}: {result.note_path} {result.gate_id}: {text}"
