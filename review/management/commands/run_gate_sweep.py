"""`run_gate_sweep`: reviews notes by one gate, in batches."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review.management.commands import review_sweep
from review.management.kit.options import positive_int, text
from review.management.kit.scope_options import add_note_arguments, add_selection_options
from review.management.kit.sweep_options import add_runner_options, add_sweep_options
from review.vocabulary import Grouping


class Command(review_sweep.Command):
    help = (
        "Review all notes that are stale for one gate, several notes in a job: what to run when a"
        " gate is new or was changed. It is review_sweep with --grouping gate."
    )
    schema = "run-gate-sweep/1"
    examples = (
        "commonplace run_gate_sweep prose/source-residue --runner claude-code --model claude-opus-4-6",
        "commonplace run_gate_sweep prose/source-residue --runner codex --model gpt-5.1-codex --batch-size 4 --dry-run",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("gate", type=text, metavar="GATE_ID", help="one gate, by id or path")
        add_note_arguments(parser)
        add_runner_options(parser, model_required=True)
        add_selection_options(parser.add_argument_group("selection, as in review_target_selector"))
        parser.add_argument(
            "--batch-size", type=positive_int, metavar="N", help="notes in a job (default 8)"
        )
        add_sweep_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        scope = {"gates": [options["gate"]], "all_gates": False, "grouping": Grouping.GATE.value}
        super().handle(**options, **scope, fix=False, apply=False)
