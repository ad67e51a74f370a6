"""The track record of gates: precision, addressed share, decisions, agreement and flips."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from review.calibration.labels import (
    NONE,
    Cell,
    Decisions,
    Labels,
    Standings,
    count_findings,
    pick_passes,
    read_addressed,
    read_decisions,
    read_missed,
)
from review.documents.base import Document, from_row, grouped
from review.domain.statistics import Agreement, Proportion
from review.knowledge_base import Corpus
from review.models import FileSnapshot, KbPath, ModelPartition, NamedKeys
from review.trials.results import GateResultJson, PortionJson, read_gate_results
from review.vocabulary import ACCEPTING_DECISIONS

CALIBRATION_SCHEMA = "review-calibration/1"


class ShareJson(Document, kw_only=True):
    """`k` of `n`, a 95 % interval, and a one-sided `bound` where `k` is 0 or `n`."""

    k: int
    n: int
    share: float | None
    low: float
    high: float
    bound: float | None


class EstimateJson(Document, kw_only=True):
    """A precision partly borrowed from `lens` or `earlier-texts`, worth `weight` labels."""

    precision: float
    borrowed_from: str
    weight: float


class TrackRecordJson(Document, kw_only=True):
    """The findings of a group of reviews; `people` and `agents`: the fixed of those settled.

    `missed` are passes that people decided as warn or fail; `word` is for the precision by people.
    """

    findings: int
    word: str
    people: ShareJson
    agents: ShareJson
    addressed: ShareJson
    missed: ShareJson
    decisions: dict[str, int] | None
    flips: ShareJson | None


class GateRecordJson(TrackRecordJson, kw_only=True):
    """The record of one text of a gate in one model partition, and of its cases if tried."""

    gate_id: str
    lens: str
    gate_sha256: str
    is_now: bool
    model_partition: str
    muted: str | None
    estimate: EstimateJson
    hits: PortionJson | None
    false_alarms: PortionJson | None


class GroupRecordJson(TrackRecordJson, kw_only=True):
    """The record of a lens, or of a model partition, over all texts."""

    name: str


class AgreementJson(Document, kw_only=True):
    """Two partitions on the same texts; `stricter` flags more, where `mcnemar_p` is below 0.05.

    `alpha` is that of all partitions on the gate's text, where more than two judged notes by it.
    """

    of: str
    name: str | None
    gate_sha256: str | None
    partitions: list[str]
    both_flag: int
    only_first: int
    only_second: int
    both_pass: int
    agreement: float | None
    positive_agreement: float | None
    kappa: float | None
    ac1: float | None
    mcnemar_p: float
    stricter: str | None
    alpha: float | None = None


class CalibrationJson(Document, kw_only=True, tag_field="schema", tag=CALIBRATION_SCHEMA):
    """`passes_to_read` are review pairs; null unless it was asked for."""

    gates: list[GateRecordJson]
    lenses: list[GroupRecordJson]
    partitions: list[GroupRecordJson]
    agreement: list[AgreementJson] | None = None
    passes_to_read: list[int] | None = None


_DIGITS = 4
_SIGNIFICANT = 0.05
# Of a text of a gate by key: its digest, and whether it is the one on disk.
_Digests = Mapping[int, tuple[str, bool]]
_TableKey = tuple[str, str, str, str, str]


def read_calibration(
    corpus: Corpus,
    gates: Sequence[str] = (),
    *,
    partitions: Collection[str] = (),
    with_agreement: bool = False,
    passes: int = 0,
) -> CalibrationJson:
    """Read the track record of gates, by gate text and partition, by lens and by partition.

    :param with_agreement: read every review, for decisions, flips and agreement.
    :param passes: name so many passes for a person to read.
    """
    found = corpus.gates.resolve(gates) if gates else corpus.gates.gates
    keys = set(KbPath.objects.ids(gate.path for gate in found).values()) if gates else None
    reading = _Reading(
        corpus,
        read_decisions(keys) if with_agreement else None,
        read_gate_results(corpus, found),
        lambda cell, partition: (
            (keys is None or cell.gate in keys) and (not partitions or partition in partitions)
        ),
    )
    document = reading.document({gate.path: gate.sha256 for gate in corpus.gates.gates})
    if passes:
        document.passes_to_read = pick_passes(
            (gate.sha256 for gate in found), partitions, number=passes
        )
    return document


class _Reading:
    """The store's counts by cell, and their conversion to records."""

    def __init__(
        self,
        corpus: Corpus,
        decisions: Decisions | None,
        cases: Iterable[GateResultJson],
        is_wanted: Callable[[Cell, str], bool],
    ) -> None:
        """Read all; keep the cells, each with its partition, that are wanted."""
        self._config, self._decisions = corpus.config, decisions
        self._partitions = dict(ModelPartition.objects.values_list("pk", "name"))
        labels, self._findings, self._addressed = Labels(), count_findings(), read_addressed()
        self._missed = read_missed()
        cells = {*self._findings, *self._missed, *(decisions.counts if decisions else ())}
        self._standings = Standings(labels, cells, gate_label=corpus.config.gate_label)
        self._people = self._standings.people
        self._agents = labels.precision(by_people=False)
        every = sorted(cells | set(self._people))
        self._cells = [it for it in every if is_wanted(it, self._partitions[it.partition])]
        self._cases = {
            (it.gate_sha256, it.model_partition): (it.hits, it.false_alarms) for it in cases
        }

    def document(self, gates_now: Mapping[str, str]) -> CalibrationJson:
        keys = NamedKeys({cell.gate_text for cell in self._cells})
        texts = FileSnapshot.objects.values_list("pk", "content_sha256", "path__path")
        stored = texts.filter(pk__in=keys)
        digests = {key: (sha256, gates_now.get(path) == sha256) for key, sha256, path in stored}
        gates = [self._gate(cell, *digests[cell.gate_text]) for cell in self._cells]
        gates.sort(key=lambda gate: (gate.gate_id, not gate.is_now, gate.model_partition))
        return CalibrationJson(
            gates=gates,
            lenses=self._groups(lambda cell: self._standings.lens(cell.gate)),
            partitions=self._groups(lambda cell: self._partitions[cell.partition]),
            agreement=self._agreements(self._decisions, digests) if self._decisions else None,
        )

    def _gate(self, cell: Cell, sha256: str, is_now: bool) -> GateRecordJson:
        partition = self._partitions[cell.partition]
        hits, false_alarms = self._cases.get((sha256, partition), (None, None))
        standing, gate_id = self._standings.of(cell), self._standings.gate_ids[cell.gate]
        return GateRecordJson(
            gate_id=gate_id,
            lens=self._standings.lens(cell.gate),
            gate_sha256=sha256,
            is_now=is_now,
            model_partition=partition,
            muted=self._config.muted.get(gate_id),
            estimate=from_row(
                EstimateJson, standing, precision=round(standing.belief.mean, _DIGITS)
            ),
            hits=hits,
            false_alarms=false_alarms,
            **self._record([cell]),
        )

    def _groups(self, name_of: Callable[[Cell], str]) -> list[GroupRecordJson]:
        groups = grouped((name_of(cell), cell) for cell in self._cells)
        return [GroupRecordJson(name=name, **self._record(groups[name])) for name in sorted(groups)]

    def _record(self, cells: Collection[Cell]) -> dict[str, Any]:
        def added(book: Mapping[Cell, Proportion]) -> Proportion:
            return sum((book[cell] for cell in cells if cell in book), NONE)

        record = {
            "findings": sum(self._findings[cell] for cell in cells),
            "word": added(self._people).word,
            "people": _share(added(self._people)),
            "agents": _share(added(self._agents)),
            "addressed": _share(added(self._addressed)),
            "missed": _share(added(self._missed)),
            "decisions": None,
            "flips": None,
        }
        if decided := self._decisions:
            counts = [decided.counts[cell] for cell in cells if cell in decided.counts]
            words = {word.value: sum(n[word] for n in counts) for word in ACCEPTING_DECISIONS}
            record |= {"decisions": words, "flips": _share(added(decided.flips))}
        return record

    def _agreements(self, found: Decisions, digests: _Digests) -> list[AgreementJson]:
        tables: dict[_TableKey, Agreement] = {}
        wanted = set(self._cells)
        for (gate, text, *pair), table in found.tables.items():
            if wanted.isdisjoint(Cell(gate, text, partition) for partition in pair):
                continue
            first, second = (self._partitions[partition] for partition in pair)
            if first > second:
                first, second, table = second, first, table.swapped
            for of, name, sha256 in (
                ("gate", self._standings.gate_ids[gate], digests[text][0]),
                ("lens", self._standings.lens(gate), None),
                ("partition", None, None),
            ):
                key = (of, name or "", sha256 or "", first, second)
                tables[key] = tables.get(key, Agreement()) + table
        alphas = {sha: found.alphas.get(text) for text, (sha, _is_now) in digests.items()}
        return [
            replace(_agreement(*key, table=tables[key]), alpha=_rounded(alphas.get(key[2])))
            for key in sorted(tables)
        ]


def _agreement(
    of: str, name: str, sha256: str, first: str, second: str, *, table: Agreement
) -> AgreementJson:
    stricter = first if table.first > table.second else second
    return AgreementJson(
        of=of,
        name=name or None,
        gate_sha256=sha256 or None,
        partitions=[first, second],
        both_flag=table.both,
        only_first=table.first,
        only_second=table.second,
        both_pass=table.neither,
        agreement=_rounded(table.share),
        positive_agreement=_rounded(table.positive),
        kappa=_rounded(table.kappa),
        ac1=_rounded(table.ac1),
        mcnemar_p=round(table.mcnemar, _DIGITS),
        stricter=stricter if table.mcnemar < _SIGNIFICANT else None,
    )


def _share(found: Proportion) -> ShareJson:
    low, high = round(found.low, _DIGITS), round(found.high, _DIGITS)
    share, bound = _rounded(found.value), _rounded(found.bound)
    return from_row(ShareJson, found, share=share, low=low, high=high, bound=bound)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
