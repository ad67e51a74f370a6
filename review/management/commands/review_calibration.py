"""`review_calibration`: how right each gate is, by what became of its findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import partition, text

if TYPE_CHECKING:
    from review.calibration.documents import AgreementJson, CalibrationJson, TrackRecordJson


class Command(ReviewCommand):
    help = (
        "Show how precise each gate is, by what people decided about its findings, with 95 %"
        " intervals: for each text of a gate and model partition, by lens and by partition."
    )
    schema = "review-calibration/1"
    store_use = store.Use.READ
    examples = (
        "commonplace review_calibration",
        "commonplace review_calibration prose --model claude-opus-4-6 --json",
        "commonplace review_calibration prose/source-residue --agreement",
    )
    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown gate; near ones are named"}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "gates", nargs="*", type=text, metavar="GATE_OR_BUNDLE", help="default: every gate"
        )
        parser.add_argument(
            "--model",
            nargs="+",
            action="extend",
            default=[],
            type=partition,
            metavar="P",
            help="only these model partitions",
        )
        parser.add_argument(
            "--agreement",
            action="store_true",
            help="read every review: decisions, flips, agreement of partitions on the same texts",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from review.calibration.calibration import CalibrationRequest, read_calibration

        config = settings.current()
        request = CalibrationRequest(
            gates=tuple(options["gates"]),
            partitions=tuple(options["model"]),
            with_agreement=options["agreement"],
        )
        with open_corpus(config) as corpus:
            document = read_calibration(corpus, request, config=config)
        if self.as_json:
            self.write_json(document)
            return
        self.write_lines(_lines(document))
        if not document.gates:
            self.notice("no review has reported a finding yet")


def _lines(document: CalibrationJson) -> Iterator[str]:
    for gate in document.gates:
        text = "" if gate.is_now else f" (earlier text {gate.gate_sha256[:8]})"
        estimate = (
            f", estimate {_percent(gate.estimate.precision)} with {gate.estimate.borrowed_from}"
        )
        yield f"{gate.gate_id} in {gate.model_partition}{text}: {_record(gate)}{estimate}"
        if gate.cases:
            hits, alarms = gate.cases.hits, gate.cases.false_alarms
            flagged = f"{hits.count} of {hits.of} to flag, {alarms.count} of {alarms.of} to pass"
            yield f"  cases: flagged {flagged}"
        if gate.muted:
            yield f"  muted: {gate.muted}"
        elif gate.people.word == "noisy" and gate.is_now:
            line = f'"{gate.gate_id}" = "the reason"'
            yield f"  to keep it out of the queue, under [muted] in kb/review.toml: {line}"
    for kind, groups in (("lens", document.lenses), ("partition", document.partitions)):
        for group in groups:
            yield f"{kind} {group.name}: {_record(group)}"
    for table in document.agreement or ():
        yield _agreement(table)


def _record(record: TrackRecordJson) -> str:
    people, agents = record.people, record.agents
    settled = people.fixed + people.rejected
    parts = [f"{record.findings} found"]
    if people.word == "few":
        parts.append(f"precision {people.fixed} of {settled} (few)")
    else:
        parts.append(
            f"precision {people.fixed} of {settled} ({people.word},"
            f" {_percent(people.low)} to {_percent(people.high)})"
        )
    if agents.fixed + agents.rejected:
        parts.append(f"agents {agents.fixed} of {agents.fixed + agents.rejected}")
    for name, share in (("addressed", record.addressed), ("flips", record.flips)):
        if share and share.n:
            parts.append(f"{name} {share.k} of {share.n}")
    if record.decisions:
        parts.append(", ".join(f"{word} {n}" for word, n in record.decisions.items()))
    return ", ".join(parts)


def _agreement(table: AgreementJson) -> str:
    first, second = table.partitions
    positive = "-" if table.positive_agreement is None else f"{table.positive_agreement:.2f}"
    stricter = f", {table.stricter} is stricter" if table.stricter else ""
    return (
        f"{table.of} {table.name or 'all'}: {first} and {second}: both flag {table.both_flag},"
        f" only {first} {table.only_first}, only {second} {table.only_second},"
        f" both pass {table.both_pass}; positive agreement {positive}{stricter}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
