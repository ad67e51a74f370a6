"""`carry_over_acceptances`: takes acceptances along to where a file was moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.acceptance.carry_over import CarryRequest, carry_over_acceptances
from review.acceptance.documents import CarriedJson, CarryOverJson, NotCarriedJson
from review.errors import ExitCode, UsageRefused
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand, request_of
from review.management.kit.options import partition, text
from review.settings.config import Config


class Command(ReviewCommand):
    help = (
        "After a file or folder was moved: accept at the new path what is accepted at the old one, "
        "where the text is the same byte for byte, with what was decided about findings. What was "
        "carried from a path that is gone is no orphan any more. With --retire: take what is "
        "accepted for files that are gone for good out of the queue and the orphans."
    )
    schema = "carry-over-acceptances/1"
    examples = (
        "commonplace carry_over_acceptances kb/notes/a.md kb/notes/archive/a.md --dry-run",
        "commonplace carry_over_acceptances kb/instructions/review-gates/prose kb/instructions/review-gates/style",
        "commonplace carry_over_acceptances --retire kb/notes/deleted.md --reason 'merged into b.md'",
    )
    exit_codes = {
        ExitCode.CONFLICT: "an acceptance was refused (named; the others were carried), or none could be carried",
        ExitCode.INPUT_REJECTED: "nothing is accepted at the old path, or a path is none",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "old_path", type=text, metavar="OLD_PATH", help="file or folder, as it was"
        )
        parser.add_argument(
            "new_path", type=text, nargs="?", metavar="NEW_PATH", help="where it is now"
        )
        parser.add_argument(
            "--retire", action="store_true", help="OLD_PATH is gone for good: no NEW_PATH"
        )
        parser.add_argument(
            "--edited",
            action="store_true",
            help="carry over what was edited too: the pair is stale at the new path, not missing",
        )
        parser.add_argument("--reason", type=text, metavar="R", help="why it is retired")
        parser.add_argument("--model", type=partition, metavar="PARTITION", help="only of this one")
        parser.add_argument("--dry-run", action="store_true", help="say what would be carried")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["retire"] is (options["new_path"] is not None):
            raise UsageRefused("give OLD_PATH and NEW_PATH, or --retire and OLD_PATH alone")
        config = settings.current()
        request = request_of(
            CarryRequest,
            options,
            new_path=options["new_path"],
            model_partition=options["model"],
            reason=options["reason"] or "",
        )
        with open_corpus(config) as corpus:
            result = carry_over_acceptances(request, corpus=corpus, now=self.now)
        self.show(result, _lines(result, config))
        if not self.as_json:
            for item in (*result.refused, *result.not_identical):
                why = "not identical" if item.code == "not-identical" else "refused"
                self.warn(f"{why}: {_key(item, config)}: {item.message}")
        done = (result.carried or result.retired) and not result.refused
        self.finish(ExitCode.DONE if done else ExitCode.CONFLICT)


def _lines(result: CarryOverJson, config: Config) -> Iterator[str]:
    verb = "would carry over" if result.dry_run else "carried over"
    for item in result.carried:
        decided = f", decided findings: {item.dispositions}" if item.dispositions else ""
        yield f"{verb}: {_key(item, config)} ({item.model_partition}{decided})"
    verb = "would retire" if result.dry_run else "retired"
    for item in result.retired:
        yield f"{verb}: {_key(item, config)} ({item.model_partition})"


def _key(item: CarriedJson | NotCarriedJson, config: Config) -> str:
    gate = item.gate_path.removeprefix(f"{config.gates_folder}/").removesuffix(".md")
    return f"{item.note_path} {gate}"
