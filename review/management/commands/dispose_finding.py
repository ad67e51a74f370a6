"""`dispose_finding`: settles a finding, or opens it again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.acceptance.documents import DisposedAllJson, DisposedJson
from review.errors import ExitCode, UsageRefused
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import text, word
from review.protocol.fix_answers import FORM, FixAnswer, read_fix_answers
from review.protocol.output import decode_output
from review.queue.triage import dispose_each
from review.vocabulary import DispositionState


class Command(ReviewCommand):
    help = (
        "Record what was decided about a finding: fixed (it opens again when a review reports it "
        "again), rejected (for good), deferred (until the note changes), or open."
    )
    schema = "dispose-finding/1"
    examples = (
        "commonplace dispose_finding 3f2a9c1b7d5e8046 --as rejected --reason 'a setting needs no source'",
        "commonplace dispose_finding - --actor agent:claude-code < answer.txt",
    )
    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown fingerprint, or a line that is no answer"}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "fingerprint",
            type=word,
            metavar="FINGERPRINT",
            help="as warn_selector shows it; - reads many from standard input, one line each:"
            f" {FORM}",
        )
        parser.add_argument(
            "--as",
            dest="state",
            choices=DispositionState.values,
            help="what becomes of it; not with -, whose lines say it",
        )
        parser.add_argument("--reason", type=text, metavar="R", help="why")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if (options["fingerprint"] == "-") == bool(options["state"]):
            raise UsageRefused("give a fingerprint with --as, or - without it")
        answers = self._answers(options)
        config = settings.current()
        with open_corpus(config) as corpus:
            done = dispose_each(
                answers, actor=options["actor"], corpus=corpus, config=config, now=self.now
            )
        document = done[0] if options["state"] else DisposedAllJson(findings=done)
        self.show(document, map(_line, done))

    def _answers(self, options: dict[str, Any]) -> list[FixAnswer]:
        if options["state"]:
            state = DispositionState(options["state"])
            fingerprint = options["fingerprint"].strip().lower()
            return [FixAnswer(fingerprint, state, options["reason"] or "")]
        text = decode_output(self.read_input("-"))
        return read_fix_answers(text, source="standard input")


def _line(result: DisposedJson) -> str:
    was = f" (was {result.was})" if result.was else ""
    text = " ".join(result.text.split())
    return f"{result.disposition}{was}: {result.note_path} {result.gate_id}: {text}"
