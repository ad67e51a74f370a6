"""Parse what a worker wrote for a job into reviews that are ready to be stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from review.domain.finding_identity import KnownFinding, ReportedFinding, choose_fingerprints
from review.domain.paths import gate_id_of
from review.ingest.known_findings import KnownFindings
from review.models import Finding, ReviewJob, ReviewPair
from review.protocol.decision import ParsedDecision, read_decision
from review.protocol.findings import ParsedFinding, read_findings
from review.protocol.output import ParsedBlock, ParsedOutput, parse_output
from review.protocol.quote_location import locate_findings, quote_lines
from review.protocol.sentinels import ExpectedPair, end_line, start_line
from review.protocol.typed_review import TypedReview, finding_text, render_typed_review
from review.settings.config import Config
from review.vocabulary import Decision, DecisionSource, PairStatus

# No model's answer is that long; a text that is, was made to cost time, or is no review.
MAX_REVIEW_CHARACTERS = 600_000
MAX_FINDINGS = 1_000
# Shorter quotes ("see the table") may stand in any note.
_TELLING_WORDS = 5


@dataclass(frozen=True)
class ReadReview:
    """A review's text, and the values read from it."""

    text: str
    decision: ParsedDecision
    findings: tuple[ParsedFinding, ...]


@dataclass(frozen=True)
class NewReview:
    """A pair with the review that answers it.

    :param of_another_note: its quotes occur in another note of the job, and none in its own.
    """

    pair: ReviewPair
    text: str
    decision: ParsedDecision
    findings: tuple[Finding, ...]
    of_another_note: bool = False


def read_output(job: ReviewJob, data: bytes, *, config: Config) -> ParsedOutput:
    """Parse `data` against all pairs of the job."""
    pairs = list(job.pairs.select_related("note", "gate").order_by("ordinal"))
    names = names_of(pairs, gates_folder=config.gates_folder)
    return parse_for_job(data, token=job.sentinel_token, names=names)


def names_of(pairs: Iterable[ReviewPair], *, gates_folder: str) -> dict[int, tuple[str, str]]:
    """Note path and gate id of the pairs of a job, by ordinal."""
    return {
        pair.ordinal: (pair.note.path, gate_id_of(pair.gate.path, gates_folder=gates_folder))
        for pair in pairs
    }


def parse_for_job(data: bytes, *, token: str, names: Mapping[int, tuple[str, str]]) -> ParsedOutput:
    """Parse `data` against all pairs of a job; `names` as `names_of` gives them."""
    expected = [ExpectedPair(ordinal, *name) for ordinal, name in names.items()]
    return parse_output(data, token=token, expected=expected)


def typed_output(
    reviews: Mapping[int, TypedReview], *, pairs: Sequence[ReviewPair]
) -> ParsedOutput:
    """Return reviews that came as data, by ordinal, as if they had been parsed."""
    return ParsedOutput(
        blocks={
            ordinal: ParsedBlock(ordinal, render_typed_review(review).rstrip("\n"), review)
            for ordinal, review in reviews.items()
        },
        missing={
            pair.ordinal: "no review for this pair" for pair in pairs if pair.ordinal not in reviews
        },
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


def read_blocks(parsed: ParsedOutput, *, pairs: Sequence[ReviewPair]) -> dict[int, ReadReview]:
    """Read the blocks of the pairs that are not completed yet, by pair key."""
    return {
        pair.pk: _read_block(parsed.blocks[pair.ordinal])
        for pair in pairs
        if pair.status != PairStatus.COMPLETED and pair.ordinal in parsed.blocks
    }


def make_reviews(
    read: Mapping[int, ReadReview], *, pairs: Sequence[ReviewPair], known: KnownFindings
) -> tuple[NewReview, ...]:
    """Place the findings of the reviews in their notes, and give each its fingerprint.

    :param read: as `read_blocks` returns them, of one job; `pairs` are all pairs of the job.
    """
    wanted = [pair for pair in pairs if pair.pk in read]
    earlier = known.earlier([pair for pair in wanted if read[pair.pk].findings])
    reviews = []
    for pair in wanted:
        review = read[pair.pk]
        decision = review.decision
        other = _note_of_quotes(pair, review, pairs, known)
        if other is not None:
            problem = f"no quote of the review stands in {pair.note.path}; they stand in {other}"
            decision = ParsedDecision(Decision.UNKNOWN, None, problem)
        findings = identify_findings(
            review.findings,
            note_path=pair.note.path,
            gate_path=pair.gate.path,
            note_text=known.note_text(pair) if review.findings else "",
            earlier=earlier.get((pair.note_id, pair.gate_id), []),
        )
        reviews.append(NewReview(pair, review.text, decision, findings, other is not None))
    return tuple(reviews)


def _read_block(block: ParsedBlock) -> ReadReview:
    if block.typed is None:
        return read_review(block.text)
    decision = ParsedDecision(block.typed.decision, DecisionSource.TYPED, "")
    return ReadReview(block.text, decision, typed_findings(block.typed))


def typed_findings(review: TypedReview) -> tuple[ParsedFinding, ...]:
    """Return the findings of a review that came as data, as if they had been parsed."""
    return tuple(
        ParsedFinding(number, found.severity, finding_text(found), found.quote, found.line or None)
        for number, found in enumerate(review.findings, 1)
    )


def read_review(text: str) -> ReadReview:
    """Read a review's text; one that is too long, or has too many findings, is left undecided."""
    if len(text) > MAX_REVIEW_CHARACTERS:
        return _unread(
            text, f"the review has {len(text):,} characters; at most {MAX_REVIEW_CHARACTERS:,}"
        )
    findings = read_findings(text)
    if len(findings) > MAX_FINDINGS:
        return _unread(text, f"the review has {len(findings):,} findings; at most {MAX_FINDINGS:,}")
    return ReadReview(text, read_decision(text), findings)


def _unread(text: str, problem: str) -> ReadReview:
    return ReadReview(text, ParsedDecision(Decision.UNKNOWN, None, f"{problem} are read"), ())


def later_versions(
    parsed: ParsedOutput, *, pairs: Sequence[ReviewPair], stored: Mapping[int, str]
) -> list[str]:
    """Report new texts for pairs that are already completed; they are not taken.

    :param stored: the review texts of those pairs, by pair key.
    """
    return [
        f"pair {pair.ordinal} was completed as {pair.decision} before; this output has another text"
        f" for it, decided {read_review(parsed.blocks[pair.ordinal].text).decision.decision}: it was not"
        " taken, and is kept in the raw output"
        for pair in pairs
        if pair.ordinal in parsed.blocks
        and pair.pk in stored
        and parsed.blocks[pair.ordinal].text != stored[pair.pk]
    ]


def _note_of_quotes(
    pair: ReviewPair, review: ReadReview, pairs: Sequence[ReviewPair], known: KnownFindings
) -> str | None:
    """Return the path of another note of the job that contains quotes its own note lacks."""
    quotes = [
        finding.quote for finding in review.findings if len(finding.quote.split()) >= _TELLING_WORDS
    ]
    if not quotes or any(quote_lines(known.note_text(pair), quote) for quote in quotes):
        return None
    others = {other.note_id: other for other in pairs if other.note_id != pair.note_id}
    for other in others.values():
        if any(quote_lines(known.note_text(other), quote) for quote in quotes):
            return other.note.path
    return None


def identify_findings(
    raw: Sequence[ParsedFinding],
    *,
    note_path: str,
    gate_path: str,
    note_text: str,
    earlier: Sequence[KnownFinding],
) -> tuple[Finding, ...]:
    """Place the findings of a review in the note, and give each the fingerprint it is known by.

    The rows are of no pair yet.

    :param earlier: findings of the same note and gate, the newest first.
    """
    findings = _without_repetitions(raw, note_text)
    lines = locate_findings(note_text, findings)
    fingerprints = choose_fingerprints(
        note_path=note_path,
        gate_path=gate_path,
        note_text=note_text,
        reported=[
            ReportedFinding(
                quote=item.quote,
                text=item.text,
                severity=item.severity,
                line=line,
                lines=quote_lines(note_text, item.quote),
            )
            for item, line in zip(findings, lines, strict=True)
        ],
        earlier=earlier,
    )
    return tuple(
        Finding(
            ordinal=ordinal,
            severity=finding.severity,
            text=finding.text,
            quote=finding.quote,
            note_line=line,
            fingerprint=fingerprint,
        )
        for ordinal, (finding, line, fingerprint) in enumerate(
            zip(findings, lines, fingerprints, strict=True), start=1
        )
    )


def _without_repetitions(raw: Sequence[ParsedFinding], note_text: str) -> list[ParsedFinding]:
    """The findings, each word for word only as often as the note has its quote."""
    seen: Counter[tuple[str, str, str, int | None]] = Counter()
    kept = []
    for item in raw:
        said = (item.severity, item.text, item.quote, item.line)
        seen[said] += 1
        if seen[said] == 1 or (
            item.line is None and seen[said] <= len(quote_lines(note_text, item.quote))
        ):
            kept.append(item)
    return kept
