"""`warn_selector`: the queue of findings that want an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.check.stored import queue_report
from review.documents.paging import Counts, Listed, count_by
from review.documents.problems import problem_json
from review.errors import ExitCode, UsageRefused
from review.findings.documents import (
    LookJson,
    LooksJson,
    QueueEntryJson,
    QueueFindingJson,
    QueueJson,
)
from review.jobs.provenance import unknown_partitions
from review.knowledge_base import Corpus
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.listing import add_listing_options, cut, part_of, tail_lines
from review.management.kit.options import partition, text
from review.management.output.check import write_report
from review.management.output.selection import problem_lines
from review.queue.csv import queue_csv
from review.queue.entries import WarnQueue, read_warn_queue
from review.queue.queue import QueueFilter
from review.queue.sorting import QueueSort
from review.reviews.needs_a_look import LookRequest, read_looks
from review.selection.path_filters import named_places
from review.vocabulary import QUEUED_DECISIONS, DispositionState, Severity

FORMATS = ("text", "json", "csv", "github", "sarif", "rdjsonl", "junit", "markdown")
_KEY = attrgetter("note_path", "gate_path")
_LOOK_KEY = attrgetter("note_path", "gate_path", "review_pair_id")
_WORDS: dict[str, Callable[[Any], str]] = {
    name: attrgetter(column)
    for name, column in (("decision", "decision"), ("gate", "gate_id"), ("note", "note_path"))
}


class Command(ReviewCommand):
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

    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown note or gate; near ones are named"}

    def add_arguments(self, parser: CommandParser) -> None:
        many: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
        parser.add_argument(
            "--note", **many, type=text, metavar="PATH", help="files and folders, gone ones too"
        )
        parser.add_argument(
            "--gate", **many, type=text, metavar="GATE", help="gate ids, paths or bundles"
        )
        parser.add_argument(
            "--model", type=partition, metavar="PARTITION", help="reviews of this partition only"
        )
        parser.add_argument(
            "--decision",
            **many,
            choices=[decision.value for decision in QUEUED_DECISIONS],
            help="entries whose latest review decided so",
        )
        parser.add_argument(
            "--severity", **many, choices=Severity.values, help="findings as grave as this"
        )
        parser.add_argument(
            "--status",
            **many,
            choices=DispositionState.values,
            help="findings in this state (default: open)",
        )
        parser.add_argument(
            "--confirmed-by",
            type=partition,
            metavar="PARTITION",
            help="findings of pairs that this partition's current review warns or fails, too",
        )
        parser.add_argument(
            "--sort",
            choices=[sort.value for sort in QueueSort],
            default=QueueSort.PLACE.value,
            help="priority: severity, precision of the gate, age; noisy gates last. labels: where a"
            " decision tells most about a gate",
        )
        parser.add_argument(
            "--needs-a-look",
            action="store_true",
            help="instead, reviews without a decision, and passes whose findings say warn or fail",
        )
        add_listing_options(parser)
        parser.add_argument("--format", choices=FORMATS, help="default: text; --json is json")

    def handle(self, *args: Any, **options: Any) -> None:
        shape = _shape(options, as_json=self.as_json)
        config = settings.current()
        for line in unknown_partitions([options["model"], options["confirmed_by"]], config=config):
            self.warn(line)
        with open_corpus(config) as corpus:
            paths = named_places(corpus, options["note"], root=str(config.root))
            if options["needs_a_look"]:
                looks = _read_looks(corpus, options, paths, gates_folder=config.gates_folder)
                cut(looks, "needs_a_look", options, _LOOK_KEY, why=attrgetter("why"), **_WORDS)
                self._print_looks(looks, shape)
            else:
                queue = read_warn_queue(corpus, _wanted(options, paths), now=self.now)
                summary = count_by(queue.entries, **_WORDS) if options["summary"] else {}
                part = part_of(queue.entries, options, _KEY)
                if shape in FORMATS[3:]:
                    report = queue_report(part, queue.problems, corpus, config=config)
                    write_report(self, report, shape=shape)
                else:
                    self._print_queue(queue, part, shape, summary, corpus)

    def _print_queue(
        self,
        queue: WarnQueue,
        part: Listed[QueueEntryJson],
        shape: str,
        summary: Counts,
        corpus: Corpus,
    ) -> None:
        # Notes that are gone are few, and end the listing.
        gone_entries = () if summary else queue.deleted_notes
        if shape == "json":
            entries = list(part)
            self.write_json(
                QueueJson(
                    entries=entries,
                    deleted_notes=list(gone_entries) if part.next is None else [],
                    problems=[problem_json(problem) for problem in queue.problems],
                    waiting_findings=queue.queue.waiting,
                    muted_findings=queue.queue.muted,
                    summary=summary,
                    next=part.next,
                )
            )
        elif shape == "csv":
            self.write_raw(queue_csv(chain(part, gone_entries)))
        elif summary:
            self.write_lines(tail_lines(summary, None))
        else:
            lines = list(_queue_lines(part))
            gone = list(_queue_lines(gone_entries)) if part.next is None else []
            self.write_lines(lines)
            if gone:
                self.write_lines(["", "notes that are gone:", *gone])
            self.write_lines(tail_lines(summary, part.next))
            empty = () if lines or gone else ("the queue is empty", *corpus.lacking())
            for line in (*empty, *_left_out_lines(queue)):
                self.notice(line)
            for line in problem_lines(queue.problems):
                self.warn(line)

    def _print_looks(self, document: LooksJson, shape: str) -> None:
        if shape == "json":
            self.write_json(document)
            return
        self.write_lines(_look_lines(document.needs_a_look))
        self.write_lines(tail_lines(document.summary, document.next))
        if not (document.needs_a_look or document.summary):
            self.notice("nothing needs a look")
        for line in problem_lines(document.problems):
            self.warn(line)


def _shape(options: dict[str, Any], *, as_json: bool) -> str:
    if as_json and options["format"] not in (None, "json"):
        raise UsageRefused(f"--json and --format {options['format']} contradict each other")
    if options["needs_a_look"] and options["format"] in FORMATS[2:]:
        raise UsageRefused("--needs-a-look is given as text or json")
    if options["after"] and options["sort"] != QueueSort.PLACE:
        raise UsageRefused("--after goes on in a list that is sorted by place")
    of_queue = [f"--{name}" for name in ("decision", "severity", "status") if options[name]]
    if options["needs_a_look"] and of_queue:
        raise UsageRefused(f"--needs-a-look is asked for without {', '.join(of_queue)}")
    return "json" if as_json else options["format"] or "text"


def _read_looks(
    corpus: Corpus, options: dict[str, Any], paths: tuple[str, ...], *, gates_folder: str
) -> LooksJson:
    gates = corpus.gates.resolve(options["gate"]) if options["gate"] else ()
    return read_looks(
        corpus,
        LookRequest(
            notes=paths,
            gate_paths=tuple(gate.path for gate in gates),
            model_partition=options["model"],
        ),
        gates_folder=gates_folder,
    )


def _wanted(options: dict[str, Any], paths: tuple[str, ...]) -> QueueFilter:
    return QueueFilter(
        notes=paths,
        gates=tuple(options["gate"]),
        partitions=(options["model"],) if options["model"] else (),
        decisions=tuple(options["decision"]),
        severities=tuple(options["severity"]),
        states=tuple(options["status"]),
        confirmed_by=options["confirmed_by"] or "",
        sort=QueueSort(options["sort"]),
    )


def _left_out_lines(queue: WarnQueue) -> Iterator[str]:
    if queue.queue.waiting:
        findings = "finding waits" if queue.queue.waiting == 1 else "findings wait"
        yield f"{queue.queue.waiting} {findings} for a new review: the gate changed since"
    if queue.queue.muted:
        yield f"findings of muted gates, left out: {queue.queue.muted} (see --gate)"


def _queue_lines(entries: Iterable[QueueEntryJson]) -> Iterator[str]:
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
        if entry.noisy:
            yield f"    {entry.noisy}"
        for finding in entry.findings:
            location = _location(note_path, finding)
            again = ", regressed" if finding.regressed else ""
            state = "" if finding.status == DispositionState.OPEN else f", {finding.status}"
            yield f"    {location}{finding.severity}: {finding.text} [{finding.fingerprint}{state}{again}]"
            if finding.of_whole_review:
                yield f"      commonplace render_review --review-pair-id {entry.review_pair_id}"
            if finding.quote:
                yield f"      > {finding.quote}"


def _location(note_path: str, finding: QueueFindingJson) -> str:
    if finding.line_now:
        return f"{note_path}:{finding.line_now}: "
    if finding.quote_gone:
        return "(quote gone from the note) "
    return f"(was line {finding.line}) " if finding.line else ""


def _look_lines(looks: list[LookJson]) -> Iterator[str]:
    for look in looks:
        yield f"{look.note_path} {look.gate_id}: {look.why} (pair {look.review_pair_id}, {look.model_partition})"
        if look.problem:
            yield f"  {look.problem}"
        for finding in look.findings:
            yield f"  {finding.severity}: {finding.text} [{finding.fingerprint}]"
