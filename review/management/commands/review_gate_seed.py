"""`review_gate_seed`: makes a case of a real note, or the prompt that asks a model for one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.domain.paths import path_below
from review.errors import ExitCode, UsageRefused
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import source, text
from review.selection.gate_names import read_named_note
from review.trials import seeds
from review.trials.documents import GateSeedJson


class Command(ReviewCommand):
    help = (
        "Give the prompt that asks a model for the smallest edit of a note that brings a gate's"
        " failure mode in; with --answer, make a draft of a case of what it answered. For a gate"
        " with a rule the edit is mechanical, and the case comes at once. Nothing is written:"
        " save the case in GATE.cases/, try it with review_gate_test, and strike `draft: true`"
        " once you agree with it."
    )
    schema = "review-gate-seed/1"
    store_use = store.Use.NONE
    examples = (
        "commonplace review_gate_seed prose/restatement --note kb/notes/a.md",
        "commonplace review_gate_seed prose/restatement --note kb/notes/a.md --answer answer.md",
    )
    exit_codes = {
        ExitCode.INPUT_REJECTED: "no such gate or note, or neither note nor answer makes a case"
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("gate", type=text, metavar="GATE_ID", help="one gate, by id or path")
        parser.add_argument(
            "--note", type=text, required=True, metavar="PATH", help="the note to be edited"
        )
        parser.add_argument(
            "--answer", type=source, metavar="FILE", help="what the model answered; - is stdin"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        config = settings.current()
        with open_corpus(config) as corpus:
            gates = corpus.gates.resolve([options["gate"]])
            if len(gates) != 1:
                raise UsageRefused(f"{options['gate']!r} is {len(gates)} gates; name one")
            (gate,) = gates
            note = read_named_note(corpus, path_below(str(config.root), options["note"]))
            prompt = None
            if options["answer"]:
                answer = self.read_input(options["answer"]).decode("utf-8", "replace")
                case: str | None = seeds.case_of_answer(answer, note)
            else:
                case = seeds.case_by_rule(corpus, gate, note)
                prompt = None if case else seeds.render_seed_prompt(gate, note)
        if self.as_json:
            self.write_json(
                GateSeedJson(gate_id=gate.gate_id, note_path=note.path, prompt=prompt, case=case)
            )
        else:
            self.write_text(case or prompt or "")
