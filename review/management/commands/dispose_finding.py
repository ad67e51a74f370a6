"""`dispose_finding`: settles a finding, or opens it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode
from review.management.kit.command import ReviewCommand
from review.management.kit.options import text, word
from review.vocabulary import DispositionState

if TYPE_CHECKING:
    from review.acceptance.documents import DisposedJson


class Command(ReviewCommand):
    help = (
        "Record what was decided about a finding: fixed (it opens again when a review reports it "
        "again), rejected (for good), deferred (until the note changes), or open."
    )
    schema = "dispose-finding/1"
    store_use = store.Use.WRITE
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
        from review.knowledge_base.opening import open_corpus
        from review.queue.triage import DispositionRequest, dispose_finding

        config = settings.current()
        request = DispositionRequest(
            state=DispositionState(options["state"]),
            actor=options["actor"],
            reason=options["reason"] or "",
        )
        with open_corpus(config) as corpus:
            result = dispose_finding(
                options["fingerprint"], request, corpus=corpus, config=config, now=self.now
            )
        if self.as_json:
            self.write_json(result)
        else:
            self.write_lines([_line(result)])


def _line(result: DisposedJson) -> str:
    was = f" (was {result.was})" if result.was else ""
    text = " ".join(result.text.split())
    return f"{result.disposition}{was}: {result.note_path} {result.gate_id}: {text}"
