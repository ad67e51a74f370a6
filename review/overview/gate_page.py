"""One gate: its coverage and findings, its text over time, and its examples tried by its rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from django.db.models import Count, Exists, Max, OuterRef

from review.calibration.calibration import AgreementJson, GateRecordJson
from review.documents.base import Document, Problems, from_row, grouped
from review.domain.diffs.words import WordDiff, word_diff
from review.knowledge_base import Corpus, Gate, UnreadableFile
from review.models import Disposition, FileSnapshot, Finding, KbPath
from review.reviews.pair_states import DECIDED, STATES, PairStates
from review.runners.rules.judge import RULES, judge
from review.selection.names import GateJson, gate_json
from review.vocabulary import GRAVITY, Decision, DispositionState


class GateCoverJson(Document):
    """A gate in one model partition: pairs by state; `fresh` is passed, `warn` and `fail` are fresh
    too. `would_go_stale` are those that an edit of the gate makes stale."""

    model_partition: str
    counts: dict[str, int]
    would_go_stale: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class GateTextJson(Document, kw_only=True):
    """A stored text of the gate; `is_now` where the file still holds it."""

    snapshot_id: int
    sha256: str
    captured_at: str | None
    byte_size: int
    is_now: bool


class ExampleJson(Document, kw_only=True):
    """An example of the gate; `holds` is null where there is no rule to try it with."""

    kind: str
    expected: str
    found: str | None
    holds: bool | None


class GatePageJson(Document, kw_only=True, tag_field="schema", tag="gate/1"):
    """The answer of a gate's page; `gate` is null when its file is gone or cannot be used."""

    gate_id: str
    gate: GateJson | None
    partitions: list[GateCoverJson]
    dispositions: dict[str, int]
    texts: list[GateTextJson]
    examples: list[ExampleJson]
    problems: Problems
    records: list[GateRecordJson] = []
    agreement: list[AgreementJson] | None = None


# Headed "Example (fail)" or "Example (pass)", fenced, and after a fail the severity it should have.
_EXAMPLE = re.compile(
    r"^##+ Example \((?P<kind>fail|pass)\)[^\n]*\n\s*\n(?P<fence>`{3,}|~{3,})(?P<language>\w*)[^\n]*\n"
    r"(?P<text>.*?)\n(?P=fence)[ \t]*$(?:\s*(?P<label>INFO|WARN|FAIL):)?",
    re.DOTALL | re.MULTILINE,
)
_TOLD = "text"  # the language of an example that is told and not shown in full
_NOTE = "kb/notes/example.md"


def read_gate_page(
    corpus: Corpus, states: PairStates, gate_id: str, *, open_findings: int
) -> tuple[Gate | None, GatePageJson]:
    """Read a gate that exists, or of which the store has texts; None: its file cannot be used."""
    path = corpus.config.gate_path(gate_id)
    gate = None
    with suppress(UnreadableFile):
        gate = corpus.gate(path)
    path_id = KbPath.objects.filter(path=path).values_list("pk", flat=True).first()
    if gate is None and path_id is None:
        corpus.gates.resolve([path])  # refuses, with the names that look like it
    return gate, GatePageJson(
        gate_id=gate_id,
        gate=gate_json(gate) if gate else None,
        partitions=gate_covers(states).get(path, []),
        dispositions=_dispositions(path_id) | {DispositionState.OPEN.value: open_findings},
        texts=_texts(path_id, gate),
        examples=list(islice(_examples(corpus, gate), 20)) if gate else [],
        problems=[item for item in corpus.gates.problems if item.path == path],
    )


def change_since(gate: Gate, snapshot_id: int) -> WordDiff | None:
    """Compare an earlier text of the gate with the current one; None where there is no such text."""
    rows = FileSnapshot.objects.filter(pk=snapshot_id, path__path=gate.path)
    before = rows.values_list("text", flat=True).first()
    return None if before is None else word_diff(before, gate.text)


def gate_covers(states: PairStates) -> dict[str, list[GateCoverJson]]:
    """Count the pairs of each gate in every partition that must judge it; by gate path."""

    def cover(partition: str, count: Counter[str]) -> GateCoverJson:
        decided = sum(count[it] for it in DECIDED)
        return GateCoverJson(partition, {it: count[it] for it in STATES}, decided)

    return grouped(
        (gate.path, cover(partition, count))
        for partition in states.partitions
        for gate, count in zip(states.gates, states.count(partition, states.notes), strict=True)
        if count
    )


def _dispositions(path_id: int | None) -> dict[str, int]:
    """Findings of the gate that have a disposition, by the latest of each."""
    last = Disposition.objects.values("fingerprint").annotate(last=Max("pk")).values("last")
    here = Finding.objects.filter(fingerprint=OuterRef("fingerprint"), pair__gate_id=path_id)
    rows = Disposition.objects.filter(Exists(here), pk__in=last)
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    return {state.value: counts.get(state.value, 0) for state in DispositionState}


def _texts(path_id: int | None, gate: Gate | None) -> list[GateTextJson]:
    rows = FileSnapshot.objects.filter(path_id=path_id).order_by("-captured_at", "-pk")
    now = gate and gate.sha256
    return [
        from_row(
            GateTextJson,
            row,
            snapshot_id=row.pk,
            sha256=row.content_sha256,
            is_now=row.content_sha256 == now,
        )
        for row in rows.defer("text")[:30]
    ]


def _examples(corpus: Corpus, gate: Gate) -> Iterator[ExampleJson]:
    for example in _EXAMPLE.finditer(gate.text.replace("\r\n", "\n")):
        is_fail = example["kind"] == "fail"
        expected = (example["label"] or "").lower() if is_fail else Decision.PASS.value
        found = holds = None
        if gate.rule in RULES and example["language"] != _TOLD:
            found = _judged(corpus, gate.rule, f"{example['text']}\n", example["language"])
            holds = found == expected if expected else found != Decision.PASS
        yield ExampleJson(kind=example["kind"], expected=expected, found=found, holds=holds)


def _judged(corpus: Corpus, rule: str, text: str, language: str) -> str:
    """`pass` for no finding, else the severity of the gravest."""
    if language == "yaml" and not text.startswith("---"):
        text = f"---\n{text}---\n"
    given = corpus.linker.rule_input(text, _NOTE)
    severities = (finding.severity.value for finding in judge(rule, given).findings)
    return max(severities, key=GRAVITY.__getitem__, default=Decision.PASS.value)
