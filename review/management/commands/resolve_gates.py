"""`resolve_gates`: the gates that names denote, or that apply to a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.listing import add_listing_options, cut, tail_lines
from review.management.kit.options import text
from review.management.output.selection import problem_lines
from review.selection.documents import GateJson
from review.selection.gate_names import list_gates


class Command(ReviewCommand):
    help = "List gates: all of them, those that names stand for, or those that apply to a note."
    schema = "resolve-gates/1"
    store_use = store.Use.NONE
    examples = (
        "commonplace resolve_gates",
        "commonplace resolve_gates prose frontmatter/missing-title",
        "commonplace resolve_gates --note kb/notes/a.md --json",
    )
    exit_codes = {
        ExitCode.INPUT_REJECTED: "an unknown or ambiguous gate (near ones are named), or no such note"
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "gates",
            nargs="*",
            type=text,
            metavar="GATE_OR_BUNDLE",
            help="gate ids, paths of gates, folders of gates (default: every gate)",
        )
        parser.add_argument(
            "--note", type=text, metavar="PATH", help="only gates that apply to this note"
        )
        add_listing_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        config = settings.current()
        with open_corpus(config) as corpus:
            listed = list_gates(
                corpus, options["gates"], note=options["note"] or "", root=str(config.root)
            )
        cut(listed, "gates", options, lambda gate: (gate.gate_path,), lens=lambda gate: gate.lens)
        self.show(listed, (*_lines(listed.gates), *tail_lines(listed.summary, listed.next)))
        if not self.as_json:
            for line in problem_lines(listed.problems):
                self.warn(line)


def _lines(gates: list[GateJson]) -> Iterator[str]:
    width = max((len(gate.gate_id) for gate in gates), default=0)
    for gate in gates:
        rule = " [rule]" if gate.rule else ""
        yield f"{gate.gate_id:<{width}}  {gate.description}{rule}"
