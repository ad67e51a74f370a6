"""Show how precise each gate is, by what people decided about its findings, with 95 % intervals:
for each text of a gate and model partition, by lens and by partition.

    commonplace review_calibration
    commonplace review_calibration prose --model claude-opus-4-6 --json
    commonplace review_calibration prose/source-residue --agreement
"""

from __future__ import annotations

from review.calibration.calibration import (
    AgreementJson,
    CalibrationJson,
    GateRecordJson,
    TrackRecordJson,
    read_calibration,
)
from review.domain.statistics import FEW, NOISY
from review.jobs.provenance import unknown_partitions
from review.management.kit import ExitCode, Lines, Option, Options, ReadingCommand, told


class Command(ReadingCommand):
    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown gate; near ones are named"}
    arguments = {
        "[gates GATE_OR_BUNDLE...]": "default: every gate",
        "--model P...": "only these model partitions",
        "--agreement": "read every review: decisions, flips, agreement of partitions on the same"
        " texts",
        "--passes N": Option("and N passes, as if at random, for a person to read", default=0),
    }

    def run(self, options: Options) -> None:
        document = read_calibration(
            self.corpus,
            gates=options["gates"],
            partitions=options["model"],
            with_agreement=options["agreement"],
            passes=options["passes"],
        )
        unknown = list(unknown_partitions(options["model"], config=self.config))
        nothing = [] if document.gates or unknown else ["no review has reported a finding yet"]
        self.show(document, _lines(document), notices=nothing)
        for line in unknown:
            self.warn(line)


def _lines(document: CalibrationJson) -> Lines:
    for gate in document.gates:
        yield from _gate_lines(gate)
    for kind, groups in (("lens", document.lenses), ("partition", document.partitions)):
        for group in groups:
            yield f"{kind} {group.name}: {', '.join(_record(group))}"
    read = "pass to read: commonplace render_review --review-pair-id {}".format
    yield from told(
        map(read, document.passes_to_read or ()), map(_agreement, document.agreement or ())
    )


def _agreement(table: AgreementJson) -> str:
    first, second = table.partitions
    positive = "-" if table.positive_agreement is None else f"{table.positive_agreement:.2f}"
    stricter = f", {table.stricter} is stricter" if table.stricter else ""
    return (
        f"{table.of} {table.name or 'all'}: {first} and {second}: both flag {table.both_flag},"
        f" only {first} {table.only_first}, only {second} {table.only_second},"
        f" both pass {table.both_pass}; positive agreement {positive}{stricter}"
    )


def _gate_lines(gate: GateRecordJson) -> Lines:
    text = "" if gate.is_now else f" (earlier text {gate.gate_sha256[:8]})"
    guess = f"estimate {_percent(gate.estimate.precision)} ({gate.estimate.borrowed_from})"
    yield f"{gate.gate_id} in {gate.model_partition}{text}: {', '.join((*_record(gate), guess))}"
    cases = (("flag", "missed", gate.hits), ("pass", "passed", gate.false_alarms))
    line, is_noisy = f'"{gate.gate_id}" = "the reason"', gate.word == NOISY and gate.is_now
    mute = f"  to keep it out of the queue, under [muted] in kb/review.toml: {line}"
    yield from told(
        (
            f"  cases to {what}: flagged {of.count} of {of.of}{_bound(of.count, of.bound, rest)}"
            for what, rest, of in cases
            if of and of.of
        ),
        f"  muted: {gate.muted}" if gate.muted else None,
        mute if is_noisy and not gate.muted else None,
    )


def _record(record: TrackRecordJson) -> Lines:
    people = record.people
    interval = f", {_percent(people.low)} to {_percent(people.high)}"
    word = f"{record.word}{'' if record.word == FEW else interval}"
    shares = {it: getattr(record, it) for it in ("agents", "addressed", "missed", "flips")}
    return told(
        f"{record.findings} found",
        f"precision {people.k} of {people.n} ({word}{_bound(people.k, people.bound, 'rejected')})",
        (
            f"{name} {of.k} of {of.n}{_bound(of.k, of.bound)}"
            for name, of in shares.items()
            if of and of.n
        ),
        (f"{word} {number}" for word, number in (record.decisions or {}).items()),
    )


def _bound(count: int, bound: float | None, rest: str = "others") -> str:
    if bound is None:
        return ""
    return f", at most {_percent(1 - bound)} {rest}" if count else f", at most {_percent(bound)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
