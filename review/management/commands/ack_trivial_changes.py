"""`ack_trivial_changes`: acks what the gates themselves call trivial."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.acceptance.ack_selection import ack_trivial_changes
from review.acceptance.documents import TrivialAcksJson
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import partition, text
from review.management.kit.scope_options import add_scope_arguments, selection_request
from review.management.output.selection import left_out_lines, problem_lines


class Command(ReviewCommand):
    help = (
        "Ack pairs whose note changed in nothing that the gate watches, or by no more than it "
        "tolerates; the gate itself is unchanged. The change is measured from the text that was "
        "reviewed, not from the last ack. Pairs that a person accepted without a review are "
        "listed, and left as they are."
    )
    schema = "ack-trivial-changes/1"
    examples = (
        "commonplace ack_trivial_changes --model claude-opus-4-6 --all-gates --dry-run",
        "commonplace ack_trivial_changes --model claude-opus-4-6 prose --note kb/notes",
    )
    exit_codes = {
        ExitCode.CONFLICT: "a text or review moved meanwhile: that pair was refused by name",
        ExitCode.INPUT_REJECTED: "an unknown gate or note; near matches are named",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        add_scope_arguments(parser)
        parser.add_argument(
            "--model", type=partition, required=True, metavar="PARTITION", help="whose acceptances"
        )
        parser.add_argument("--reason", type=text, metavar="R", help="a reason to keep with each")
        parser.add_argument("--dry-run", action="store_true", help="say what would be acked")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        scope = selection_request(options)
        with open_corpus(settings.current()) as corpus:
            result = ack_trivial_changes(
                scope,
                actor=options["actor"],
                reason=options["reason"] or "",
                dry_run=options["dry_run"],
                corpus=corpus,
                now=self.now,
            )
        if self.as_json:
            self.write_json(result)
        else:
            self._write(result)
        self.finish(ExitCode.CONFLICT if result.refused else ExitCode.DONE)

    def _write(self, result: TrivialAcksJson) -> None:
        word = "would ack" if result.dry_run else "acked"
        self.write_lines(f"{word}: {pair.note_path} {pair.gate_id}" for pair in result.acked)
        for line in left_out_lines(result.left_out):
            self.notice(line)
        for item in result.refused:
            self.warn(f"refused: {item.message}")
        for pair in result.left:
            self.warn(
                f"left: {pair.note_path} {pair.gate_id}: a person accepted it without a review"
            )
        for line in problem_lines(result.problems):
            self.warn(line)
        if not result.acked:
            self.notice("no trivial change in this scope")
