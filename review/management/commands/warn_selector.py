"""`warn_selector`: the queue of findings that want an edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import conf, store
from review.contracts.queue import LookJson, LooksJson, QueueEntryJson, QueueJson
from review.corpus import Corpus
from review.errors import UsageRefused
from review.integrations.queue_csv import queue_csv
from review.management.base import ReviewCommand
from review.management.knowledge_base import open_corpus
from review.management.options import text, word
from review.management.problem_output import problem_lines
from review.queries.looks import LookRequest, read_looks
from review.queries.problems import problem_json
from review.queries.warn_queue import QueueRequest, read_warn_queue
from review.vocabulary import QUEUED_DECISIONS, Decision, DispositionState, Severity

FORMATS = ("text", "json", "csv")


class Command(ReviewCommand):
    """Show what must be mended next."""

    help = (
        "List the findings of current warn and fail reviews, one entry per note and gate: the"
        " latest accepted. Left out are overrides and reviews by a gate that changed since."
    )
    schema = "warn-selector/1"
    store_use = store.Use.READ
    examples = (
        "commonplace warn_selector",
        "commonplace warn_selector --note kb/notes/a.md --json",
        "commonplace warn_selector --needs-a-look",
        "commonplace warn_selector --status deferred rejected --format csv",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--note", nargs="+", action="extend", type=text, metavar="PATH")
        parser.add_argument("--gate", nargs="+", action="extend", type=text, metavar="GATE")
        parser.add_argument("--model", type=word, metavar="PARTITION")
        parser.add_argument("--decision", nargs="+", choices=[*QUEUED_DECISIONS])
        parser.add_argument("--severity", nargs="+", choices=Severity.values)
        parser.add_argument("--status", nargs="+", choices=DispositionState.values)
        parser.add_argument("--needs-a-look", action="store_true")
        parser.add_argument("--format", choices=FORMATS)

    def handle(self, *args: Any, **options: Any) -> None:
        """Read and print the queue."""
        shape = _shape(options, as_json=self.as_json)
        config = conf.current()
        with open_corpus(config) as corpus:
            if options["needs_a_look"]:
                self._print_looks(corpus, options, shape, gates_folder=config.gates_folder)
            else:
                self._print_queue(corpus, options, shape)

    def _print_queue(self, corpus: Corpus, options: dict[str, Any], shape: str) -> None:
        queue = read_warn_queue(corpus, _request(options))
        if shape == "json":
            self.write_json(
                QueueJson(
                    entries=list(queue.entries),
                    deleted_notes=list(queue.deleted_notes),
                    problems=[problem_json(problem) for problem in queue.problems],
                )
            )
        elif shape == "csv":
            self.write_raw(queue_csv([*queue.entries, *queue.deleted_notes]))
        else:
            self.write_lines(_queue_lines(queue.entries))
            if queue.deleted_notes:
                self.write_lines(["", "notes that are gone:", *_queue_lines(queue.deleted_notes)])
            if not queue.entries and not queue.deleted_notes:
                self.notice("the queue is empty")
            for line in problem_lines(queue.problems):
                self.warn(line)

    def _print_looks(
        self, corpus: Corpus, options: dict[str, Any], shape: str, *, gates_folder: str
    ) -> None:
        if shape == "csv":
            raise UsageRefused("--needs-a-look is given as text or json")
        listed = corpus.notes()
        gates = corpus.gates.resolve(options["gate"]) if options["gate"] else ()
        looks = read_looks(
            corpus,
            LookRequest(
                notes=tuple(options["note"] or ()),
                gate_paths=tuple(gate.path for gate in gates),
                model_partition=options["model"],
            ),
            digests={note.path: note.sha256 for note in listed.notes},
            gates_folder=gates_folder,
        )
        if shape == "json":
            problems = [problem_json(problem) for problem in listed.problems]
            self.write_json(LooksJson(needs_a_look=looks, problems=problems))
        else:
            self.write_lines(_look_lines(looks))
            for line in problem_lines(listed.problems):
                self.warn(line)


def _shape(options: dict[str, Any], *, as_json: bool) -> str:
    if as_json and options["format"] not in (None, "json"):
        raise UsageRefused(f"--json and --format {options['format']} contradict each other")
    return "json" if as_json else options["format"] or "text"


def _request(options: dict[str, Any]) -> QueueRequest:
    return QueueRequest(
        notes=tuple(options["note"] or ()),
        gates=tuple(options["gate"] or ()),
        model_partition=options["model"],
        decisions=tuple(Decision(word) for word in options["decision"] or QUEUED_DECISIONS),
        severities=tuple(Severity(word) for word in options["severity"] or ()),
        states=tuple(
            DispositionState(word) for word in options["status"] or [DispositionState.OPEN]
        ),
    )


def _queue_lines(entries: tuple[QueueEntryJson, ...]) -> Iterator[str]:
    note_path = ""
    for entry in entries:
        if entry.note_path != note_path:
            note_path = entry.note_path
            yield note_path
        changed = ", note changed since" if entry.note_changed_since else ""
        passed = (
            f", passed later by {', '.join(entry.later_pass_in)}" if entry.later_pass_in else ""
        )
        yield (
            f"  {entry.decision.upper()} {entry.gate_id}"
            f" (pair {entry.review_pair_id}, {entry.model_partition}{changed}{passed})"
        )
        if not entry.findings:
            yield f"    no findings listed: commonplace render_review --review-pair-id {entry.review_pair_id}"
        for finding in entry.findings:
            line = finding.line_now or finding.line
            place = f"{note_path}:{line}: " if line else ""
            again = ", regressed" if finding.regressed else ""
            state = "" if finding.status == DispositionState.OPEN else f", {finding.status}"
            yield f"    {place}{finding.severity}: {finding.text} [{finding.fingerprint}{state}{again}]"
            if finding.quote:
                yield f"      > {finding.quote}"


def _look_lines(looks: list[LookJson]) -> Iterator[str]:
    for look in looks:
        yield f"{look.note_path} {look.gate_id}: {look.why} (pair {look.review_pair_id}, {look.model_partition})"
        if look.problem:
            yield f"  {look.problem}"
        for finding in look.findings:
            yield f"  {finding.severity}: {finding.text} [{finding.fingerprint}]"
