"""Everything the page of one gate shows: its text over time, and how its reviews went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Exists, Max, OuterRef

from review.documents.base import timestamp
from review.documents.problems import problem_json
from review.domain.diffs.words import WordDiff, word_diff
from review.domain.paths import gate_path_of
from review.domain.problems import Problem
from review.knowledge_base import Corpus, Gate, UnreadableFile
from review.models import Disposition, FileSnapshot, Finding, KbPath
from review.overview.documents import ExampleJson, GateCoverJson, GatePageJson, GateTextJson
from review.overview.gate_examples import try_examples
from review.reviews.pair_states import DECIDED, STATES, PairStates
from review.selection.gate_names import gate_json
from review.settings.config import Config
from review.vocabulary import DispositionState

_TEXTS = 30


@dataclass(frozen=True)
class GateCover:
    """A gate in one model partition; counts by state."""

    model_partition: str
    counts: Mapping[str, int]

    @property
    def fresh(self) -> int:
        """Pairs that an edit of the gate would make stale."""
        return sum(self.counts[state] for state in DECIDED)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def share(self, word: str) -> int:
        return round(100 * self.counts[word] / self.fresh) if self.fresh else 0


@dataclass(frozen=True)
class GatePage:
    """One gate.

    :param gate: None when the file is gone or cannot be used.
    :param judged: findings by their latest disposition.
    :param change: from an earlier text to today's, where one was asked for.
    """

    gate_id: str
    gate_path: str
    gate: Gate | None
    covers: tuple[GateCover, ...]
    judged: Mapping[str, int]
    texts: tuple[GateTextJson, ...]
    examples: tuple[ExampleJson, ...]
    problems: tuple[Problem, ...]
    change: WordDiff | None

    @property
    def precision(self) -> int | None:
        """Percent of the settled findings that were fixed and not rejected; None where none is settled."""
        fixed = self.judged.get(DispositionState.FIXED, 0)
        settled = fixed + self.judged.get(DispositionState.REJECTED, 0)
        return round(100 * fixed / settled) if settled else None

    def document(self) -> GatePageJson:
        return GatePageJson(
            gate_id=self.gate_id,
            gate=gate_json(self.gate) if self.gate else None,
            partitions=[
                GateCoverJson(
                    model_partition=cover.model_partition,
                    counts=dict(cover.counts),
                    would_go_stale=cover.fresh,
                )
                for cover in self.covers
            ],
            dispositions=dict(self.judged),
            texts=list(self.texts),
            examples=list(self.examples),
            problems=[problem_json(problem) for problem in self.problems],
        )


def read_gate_page(
    corpus: Corpus,
    states: PairStates,
    gate_id: str,
    *,
    against: int | None,
    open_findings: int,
    config: Config,
) -> GatePage:
    """The page of a gate that is there, or whose texts the store has kept.

    :param open_findings: of the gate, as the queue counts them.
    :param against: the key of an earlier text to compare today's with.
    :raises UnknownGate: neither; the hint names near ones.
    :raises BadPath: the id is no path below the gates folder.
    """
    path = gate_path_of(gate_id, gates_folder=config.gates_folder)
    gate = _gate(corpus, path)
    path_id = KbPath.objects.filter(path=path).values_list("pk", flat=True).first()
    if gate is None and path_id is None:
        corpus.gates.resolve([path])  # refuses, with the names that look like it
    return GatePage(
        gate_id=gate_id,
        gate_path=path,
        gate=gate,
        covers=tuple(gate_covers(states).get(path, ())),
        judged=_judged(path_id) | {DispositionState.OPEN.value: open_findings},
        texts=tuple(_texts(path_id, gate)),
        examples=tuple(try_examples(gate)) if gate else (),
        problems=tuple(item for item in corpus.gates.problems if item.path == path),
        change=_change(path_id, gate, against),
    )


def gate_covers(states: PairStates) -> dict[str, list[GateCover]]:
    """Where each gate stands in every partition that owes something of it; by gate path."""
    covers: dict[str, list[GateCover]] = {}
    for partition in states.partitions:
        counts = states.count(partition, states.notes)
        for gate, count in zip(states.gates, counts, strict=True):
            if count:
                cover = GateCover(partition, {state: count[state] for state in STATES})
                covers.setdefault(gate.path, []).append(cover)
    return covers


def _gate(corpus: Corpus, path: str) -> Gate | None:
    try:
        return corpus.gate(path)
    except UnreadableFile:
        return None


def _judged(path_id: int | None) -> dict[str, int]:
    """Findings of the gate that have a disposition, by the latest of each."""
    last = Disposition.objects.values("fingerprint").annotate(last=Max("pk")).values("last")
    here = Finding.objects.filter(fingerprint=OuterRef("fingerprint"), pair__gate_id=path_id)
    rows = Disposition.objects.filter(Exists(here), pk__in=last)
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    return {state.value: counts.get(state.value, 0) for state in DispositionState}


def _texts(path_id: int | None, gate: Gate | None) -> list[GateTextJson]:
    rows = FileSnapshot.objects.filter(path_id=path_id).order_by("-captured_at", "-pk")
    columns = ("pk", "content_sha256", "captured_at", "byte_size")
    return [
        GateTextJson(
            snapshot_id=key,
            sha256=sha256,
            captured_at=timestamp(at),
            byte_size=size,
            is_now=gate is not None and sha256 == gate.sha256,
        )
        for key, sha256, at, size in rows.values_list(*columns)[:_TEXTS]
    ]


def _change(path_id: int | None, gate: Gate | None, against: int | None) -> WordDiff | None:
    if against is None or gate is None:
        return None
    rows = FileSnapshot.objects.filter(pk=against, path_id=path_id).values_list("text", flat=True)
    before = rows.first()
    return None if before is None else word_diff(before, gate.text)
