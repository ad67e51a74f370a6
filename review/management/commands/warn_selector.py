"""List the findings of current warn and fail reviews, one entry per note and gate: the latest
accepted. Left out are overrides and reviews by a gate that changed since.

    commonplace warn_selector
    commonplace warn_selector --note kb/notes/a.md --json
    commonplace warn_selector --needs-a-look
    commonplace warn_selector --status deferred rejected --format csv
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter

from review.documents.base import count_by
from review.findings.states import LookJson, QueueEntryJson, QueueFindingJson, QueueJson
from review.jobs.provenance import unknown_partitions
from review.management import kit
from review.management.kit import output
from review.queue.columns import QueueSort
from review.queue.entries import queue_csv, read_warn_queue
from review.queue.queue import QueueFilter
from review.reviews.needs_a_look import LookRequest, read_looks
from review.selection.names import named_places
from review.vocabulary import QUEUED_DECISIONS, DispositionState, Severity

REPORTS = ("github", "sarif", "rdjsonl", "junit", "markdown")
_KEY = attrgetter("note_path", "gate_path")
_LOOK_KEY = attrgetter("note_path", "gate_path", "review_pair_id")
_WORDS = {"decision": "decision", "gate": "gate_id", "note": "note_path"}
_NARROWING = ("note", "gate", "model", "decision", "severity", "status", "confirmed_by", "after")
_NOTHING = ("nothing in the queue matches these options", "the queue is empty")


class Command(kit.ReadingCommand):
    exit_codes = {kit.ExitCode.INPUT_REJECTED: "an unknown note or gate; near ones are named"}
    arguments = {
        "--note PATH...": "files and folders, gone ones too",
        "--gate GATE...": "gate ids, paths or bundles",
        "--model PARTITION": "reviews of this partition only",
        "--decision ...": kit.Option(
            "entries whose latest review decided so",
            [decision.value for decision in QUEUED_DECISIONS],
        ),
        "--severity ...": kit.Option("findings as grave as this", Severity.values),
        "--status ...": kit.Option(
            "findings in this state (default: open)", DispositionState.values
        ),
        "--confirmed-by PARTITION": "findings of pairs that this partition's current review warns"
        " or fails, too",
        "--sort": kit.Option(
            "priority: severity, precision of the gate, age; noisy gates last. labels: where a decision tells most about a gate",
            [sort.value for sort in QueueSort],
            default=QueueSort.PLACE.value,
        ),
        "--needs-a-look": "instead, reviews without a decision, and passes whose findings say warn"
        " or fail",
        **kit.LISTING,
        "--format": kit.Option("default: text; --json is json", ("text", "json", "csv", *REPORTS)),
    }

    def run(self, options: kit.Options) -> None:
        shape = _shape(options, as_json=self.as_json)
        self.as_json = shape == "json"
        corpus, config = self.corpus, self.config
        for line in unknown_partitions([options["model"], options["confirmed_by"]], config=config):
            self.warn(line)
        paths = named_places(corpus, options["note"])
        if options["needs_a_look"]:
            self._show_looks(paths, options)
            return
        wanted = kit.request_of(
            QueueFilter,
            options,
            notes=paths,
            gates=options["gate"],
            partitions=list(filter(None, [options["model"]])),
            decisions=options["decision"],
            severities=options["severity"],
            states=options["status"],
        )
        queue = read_warn_queue(corpus, wanted, now=self.now)
        summary = count_by(queue.entries, **_WORDS) if options["summary"] else {}
        part, following = output.part_of(queue.entries, options, _KEY)
        # Notes that are gone are few, and end the listing.
        gone = () if summary else queue.deleted_notes
        if shape in REPORTS:
            from review.check.lock import queue_report  # takes 20 ms

            output.write_report(self, queue_report(part, queue.problems, corpus), shape=shape)
        elif shape == "csv":
            self.write_raw(queue_csv(chain(part, gone)))
        else:
            document = QueueJson(
                entries=part,
                deleted_notes=list(gone) if following is None else [],
                problems=queue.problems,
                waiting_findings=queue.queue.waiting,
                muted_findings=queue.queue.muted,
                summary=summary,
                next=following,
            )
            self._show_queue(document, is_whole=not any(options[name] for name in _NARROWING))

    def _show_queue(self, document: QueueJson, *, is_whole: bool) -> None:
        entries, gone = document.entries, document.deleted_notes
        self.show(
            document,
            kit.told(
                _queue_lines(entries),
                ("", "notes that are gone:") if gone else None,
                _queue_lines(gone),
                output.tail_lines(document),
            ),
            warnings=() if document.summary else output.problem_lines(document.problems),
            notices=() if document.summary else self._notices(document, is_whole),
        )

    def _notices(self, document: QueueJson, is_whole: bool) -> kit.Lines:
        waiting, muted = document.waiting_findings, document.muted_findings
        findings = "finding waits" if waiting == 1 else "findings wait"
        is_empty = not (document.entries or document.deleted_notes)
        return kit.told(
            (_NOTHING[is_whole], *self.corpus.lacking()) if is_empty else None,
            f"{waiting} {findings} for a new review: the gate changed since" if waiting else None,
            f"findings of muted gates, left out: {muted} (see --gate)" if muted else None,
        )

    def _show_looks(self, paths: tuple[str, ...], options: kit.Options) -> None:
        gates = self.corpus.gates.resolve(options["gate"]) if options["gate"] else ()
        wanted = LookRequest(
            notes=paths,
            gate_paths=tuple(gate.path for gate in gates),
            model_partition=options["model"],
        )
        looks = read_looks(self.corpus, wanted)
        output.cut(looks, "needs_a_look", options, _LOOK_KEY, why="why", **_WORDS)
        found = looks.needs_a_look or looks.summary
        self.show(
            looks,
            (*_look_lines(looks.needs_a_look), *output.tail_lines(looks)),
            warnings=output.problem_lines(looks.problems),
            notices=() if found else ("nothing needs a look",),
        )


def _shape(options: kit.Options, *, as_json: bool) -> str:
    shape, looks = options["format"], options["needs_a_look"]
    of_queue = [f"--{name}" for name in ("decision", "severity", "status") if options[name]]
    by_place = options["sort"] == QueueSort.PLACE
    kit.refuse(
        {
            f"--json and --format {shape} contradict each other": (
                as_json and shape not in (None, "json")
            ),
            "--needs-a-look is given as text or json": (
                looks and shape not in (None, "text", "json")
            ),
            "--after goes on in a list that is sorted by place": options["after"] and not by_place,
            f"--needs-a-look is asked for without {', '.join(of_queue)}": looks and of_queue,
        }
    )
    return "json" if as_json else shape or "text"


def _queue_lines(entries: Iterable[QueueEntryJson]) -> kit.Lines:
    note_path = ""
    for entry in entries:
        yield from () if entry.note_path == note_path else (entry.note_path,)
        note_path = entry.note_path
        about = f"pair {entry.review_pair_id}, {entry.model_partition}"
        about += ", note changed since" if entry.note_changed_since else ""
        about += f", passed later by {', '.join(entry.later_pass_in)}" * bool(entry.later_pass_in)
        yield f"  {entry.decision.upper()} {entry.gate_id} ({about})"
        yield from (f"    {entry.noisy}",) if entry.noisy else ()
        for finding in entry.findings:
            said = f"{_location(note_path, finding)}{finding.severity}: {finding.text}"
            reason = f": {finding.decision_reason}" if finding.decision_reason else ""
            whole = f"commonplace render_review --review-pair-id {entry.review_pair_id}"
            yield from kit.told(
                f"    {said} [{output.finding_state(finding)}]",
                f"      {whole}" if finding.of_whole_review else None,
                f"      {finding.status} by {finding.decided_by}{reason}"
                if finding.decided_by
                else None,
                f"      > {finding.quote}" if finding.quote else None,
            )


def _location(note_path: str, finding: QueueFindingJson) -> str:
    if finding.line_now:
        return f"{note_path}:{finding.line_now}: "
    if finding.quote_gone:
        return "(quote gone from the note) "
    return f"(was line {finding.line}) " if finding.line else ""


def _look_lines(looks: list[LookJson]) -> kit.Lines:
    for look in looks:
        about = f"pair {look.review_pair_id}, {look.model_partition}"
        yield from kit.told(
            f"{look.note_path} {look.gate_id}: {look.why} ({about})",
            f"  {look.problem}" if look.problem else None,
            (f"  {it.severity}: {it.text} [{it.fingerprint}]" for it in look.findings),
        )
