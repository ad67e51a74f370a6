"""Parse what a worker wrote for a job into reviews to store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from review.domain.finding_identity import KnownFinding, choose_fingerprints, own_fingerprints
from review.models import Acceptance, FileSnapshot, Finding, ReviewJob, ReviewPair, batched
from review.protocol.decision import ParsedDecision, ReadReview, read_review
from review.protocol.output import NO_BLOCK, ParsedBlock, ParsedOutput, parse_output
from review.protocol.quote_location import (
    locate_findings,
    passage_lines,
    quote_lines,
    set_apart,
    telling_quotes,
)
from review.protocol.sentinels import ExpectedPair, end_line, start_line
from review.protocol.typed_review import (
    ReviewFinding,
    TypedReview,
    finding_text,
    render_typed_review,
)
from review.settings import Config
from review.vocabulary import AcceptanceKind, DecisionSource


def names_of(job: ReviewJob, config: Config) -> dict[int, tuple[str, str]]:
    """Note path and gate id of the pairs of a job, by ordinal."""
    rows = job.pairs.order_by("ordinal").values_list("ordinal", "note__path", "gate__path")
    return {it: (note, config.gate_id(gate)) for it, note, gate in rows}


def read_output(job: ReviewJob, data: bytes, names: Mapping[int, tuple[str, str]]) -> ParsedOutput:
    """Parse `data` against all pairs of the job, by their `names_of`."""
    expected = [ExpectedPair(ordinal, *name) for ordinal, name in names.items()]
    return parse_output(data, token=job.sentinel_token, expected=expected)


def typed_output(reviews: Mapping[int, TypedReview], *, ordinals: Iterable[int]) -> ParsedOutput:
    """Return reviews that came as data, by ordinal, as if they had been parsed."""
    return ParsedOutput(
        blocks={
            ordinal: ParsedBlock(render_typed_review(review).rstrip("\n"), review)
            for ordinal, review in reviews.items()
        },
        missing={it: NO_BLOCK for it in ordinals if it not in reviews},
        problems=(),
        self_reported_model=None,
        foreign_tokens=(),
        has_own_blocks=True,
    )


def write_blocks(
    reviews: Mapping[int, TypedReview], *, token: str, names: Mapping[int, tuple[str, str]]
) -> bytes:
    """Write reviews that came as data as blocks; `names`: note and gate id by ordinal."""
    lines = []
    for ordinal, review in sorted(reviews.items()):
        sentinel = (token, ordinal, *names[ordinal])
        text = render_typed_review(review).rstrip("\n")
        lines += [start_line(*sentinel), text, end_line(*sentinel), ""]
    return "\n".join(lines).encode("utf-8", "replace")


def read_block(block: ParsedBlock) -> ReadReview:
    if block.typed is None:
        return read_review(block.text)
    decision = ParsedDecision(block.typed.decision, DecisionSource.TYPED, "")
    return ReadReview(block.text, decision, typed_findings(block.typed))


def typed_findings(review: TypedReview) -> tuple[ReviewFinding, ...]:
    """Return the findings of a review that came as data, as if they had been parsed."""
    return tuple(replace(found, text=finding_text(found)) for found in review.findings)


def identify_findings(
    raw: Sequence[ReviewFinding],
    *,
    note_path: str,
    gate_path: str,
    note_text: str,
    earlier: Sequence[KnownFinding],
) -> list[Finding]:
    """Place the findings of a review in the note, under fingerprints of `earlier` ones or new."""
    said = _without_repetitions([_with_quote(item, note_text) for item in raw], note_text)
    lines = locate_findings(note_text, said)
    reported = [
        KnownFinding(
            "", it.quote, it.text, it.severity, line, lines=quote_lines(note_text, it.quote)
        )
        for it, line in zip(said, lines, strict=True)
    ]
    fingerprints = choose_fingerprints(
        note_path=note_path,
        gate_path=gate_path,
        note_text=note_text,
        reported=reported,
        earlier=earlier,
    )
    return [
        Finding(
            ordinal=ordinal,
            fingerprint=fingerprint,
            severity=item.severity,
            text=item.text,
            quote=item.quote,
            note_line=item.line,
        )
        for ordinal, (item, fingerprint) in enumerate(zip(reported, fingerprints, strict=True), 1)
    ]


def _with_quote(item: ReviewFinding, note_text: str) -> ReviewFinding:
    """Set the places of a quote apart; without one take what the text quotes of the note."""
    if item.quote:
        return replace(item, quote=set_apart(note_text, item.quote))
    quotes = () if item.line else telling_quotes(item)
    found = (quote.strip() for quote in quotes if passage_lines(note_text, quote))
    return replace(item, quote=next(found, "")) if quotes else item


def _without_repetitions(raw: Sequence[ReviewFinding], note_text: str) -> list[ReviewFinding]:
    """The findings, each word for word only as often as the note has its quote."""
    seen = Counter[ReviewFinding]()
    kept = []
    for item in raw:
        seen[item] += 1
        places = () if item.line else quote_lines(note_text, item.quote)
        if seen[item] <= max(1, len(places)):
            kept.append(item)
    return kept


# The newest, of a hundred pairs.
_EARLIER_FINDINGS = 5_000
_COLUMNS = ("fingerprint", "quote", "text", "severity", "note_line", "pair__note_snapshot_id")

_Key = tuple[int, int]  # of a note and a gate


class KnownFindings:
    """Earlier findings and note texts for jobs that are read one after the other."""

    def __init__(self, pairs: Collection[ReviewPair]) -> None:
        """Take the pairs that report findings; fetches for all of them together."""
        self._texts: dict[int, str] = {}
        self._found: defaultdict[_Key, list[tuple[int, KnownFinding]]] = defaultdict(list)
        self._read_texts(pair.note_snapshot_id for pair in pairs)
        for keys in batched(dict.fromkeys((pair.note_id, pair.gate_id) for pair in pairs), 100):
            self._read_findings(keys)

    def note_text(self, pair: ReviewPair) -> str:
        self._read_texts([pair.note_snapshot_id])
        return self._texts[pair.note_snapshot_id]

    def earlier(self, pair: ReviewPair) -> list[KnownFinding]:
        """Return findings of earlier reviews of the note and gate, newest pair first."""
        found = self._found[pair.note_id, pair.gate_id]
        return [known for _pair_id, known in sorted(found, key=lambda it: -it[0])]

    def add(self, pair: ReviewPair, findings: Iterable[Finding]) -> None:
        """Count the findings of a pair among the earlier ones from now on."""
        text = self.note_text(pair)
        self._found[pair.note_id, pair.gate_id] += [
            (
                pair.pk,
                KnownFinding(it.fingerprint, it.quote, it.text, it.severity, it.note_line, text),
            )
            for it in findings
        ]

    def _read_findings(self, keys: Collection[_Key]) -> None:
        notes, gates = {note for note, _gate in keys}, {gate for _note, gate in keys}
        stored = (
            Finding.objects.filter(pair__note_id__in=notes, pair__gate_id__in=gates)
            .order_by("-pair_id", "ordinal")
            .values_list("pair__note_id", "pair__gate_id", "pair_id", *_COLUMNS)[:_EARLIER_FINDINGS]
        )
        found: list[tuple[Any, ...]] = [*stored, *_carried(notes, gates)]
        rows = [row for row in found if row[:2] in keys]
        self._read_texts(row[-1] for row in rows)
        for note_id, gate_id, pair_id, mark, quote, text, severity, line, text_id in rows:
            known = KnownFinding(mark, quote, text, severity, line, self._texts[text_id])
            self._found[note_id, gate_id].append((pair_id, known))

    def _read_texts(self, snapshot_ids: Iterable[int]) -> None:
        for chunk in batched(sorted(set(snapshot_ids) - self._texts.keys()), 500):
            self._texts.update(FileSnapshot.objects.filter(pk__in=chunk).values_list("pk", "text"))


def _carried(notes: set[int], gates: set[int]) -> Iterator[tuple[Any, ...]]:
    """Findings of reviews that were carried over to one of the keys, as they are known there."""
    carried = (
        Acceptance.objects.filter(
            kind=AcceptanceKind.CARRY_OVER, note_id__in=notes, gate_id__in=gates
        )
        .order_by("-pk")
        .values_list("review_pair_id", "note_id", "gate_id", "note__path", "gate__path")
    )
    keys = list(dict.fromkeys(carried))
    found: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for chunk in batched(sorted({key[0] for key in keys}), 500):
        rows = Finding.objects.filter(pair_id__in=chunk).order_by("pair_id", "ordinal")
        for pair_id, *row in rows.values_list("pair_id", *_COLUMNS):
            found[pair_id].append(tuple(row))
    for pair_id, note_id, gate_id, note_path, gate_path in keys:
        known = [KnownFinding(*row[:3]) for row in found[pair_id]]
        values = own_fingerprints(known, note_path=note_path, gate_path=gate_path)
        for value, row in zip(values, found[pair_id], strict=True):
            yield (note_id, gate_id, 0, value, *row[1:])  # behind those of its own
