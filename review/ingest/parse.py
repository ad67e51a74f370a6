"""Parse what a worker wrote for a job into reviews that are ready to be stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from review.domain.finding_identity import KnownFinding, choose_fingerprints
from review.domain.paths import gate_id_of
from review.models import Finding, ReviewJob, ReviewPair
from review.protocol.decision import ParsedDecision, read_decision
from review.protocol.findings import ParsedFinding, read_findings
from review.protocol.output import ParsedBlock, ParsedOutput, parse_output
from review.protocol.quote_location import locate_findings, quote_lines
from review.protocol.sentinels import ExpectedPair, end_line, start_line
from review.protocol.typed_review import TypedReview, finding_text, render_typed_review
from review.settings.config import Config
from review.vocabulary import Decision, DecisionSource

# No model's answer is that long; a text that is, was made to cost time, or is no review.
MAX_REVIEW_CHARACTERS = 600_000
MAX_FINDINGS = 1_000


@dataclass(frozen=True)
class ReadReview:
    """A review's text, and the values read from it."""

    text: str
    decision: ParsedDecision
    findings: tuple[ParsedFinding, ...] = ()


def names_of(pairs: Iterable[ReviewPair], *, gates_folder: str) -> dict[int, tuple[str, str]]:
    """Note path and gate id of the pairs of a job, by ordinal."""
    return {
        pair.ordinal: (pair.note.path, gate_id_of(pair.gate.path, gates_folder=gates_folder))
        for pair in pairs
    }


def pair_names(job: ReviewJob, *, config: Config) -> dict[int, tuple[str, str]]:
    """The same, read from the store."""
    rows = job.pairs.order_by("ordinal").values_list("ordinal", "note__path", "gate__path")
    folder = config.gates_folder
    return {n: (note, gate_id_of(gate, gates_folder=folder)) for n, note, gate in rows}


def read_output(
    job: ReviewJob,
    data: bytes,
    *,
    config: Config,
    names: Mapping[int, tuple[str, str]] | None = None,
) -> ParsedOutput:
    """Parse `data` against all pairs of the job.

    :param names: of the pairs, where they are known.
    """
    if names is None:
        names = pair_names(job, config=config)
    expected = [ExpectedPair(ordinal, *name) for ordinal, name in names.items()]
    return parse_output(data, token=job.sentinel_token, expected=expected)


def typed_output(reviews: Mapping[int, TypedReview], *, ordinals: Iterable[int]) -> ParsedOutput:
    """Return reviews that came as data, by ordinal, as if they had been parsed."""
    return ParsedOutput(
        blocks={
            ordinal: ParsedBlock(render_typed_review(review).rstrip("\n"), review)
            for ordinal, review in reviews.items()
        },
        missing={
            ordinal: "no review for this pair" for ordinal in ordinals if ordinal not in reviews
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


def read_block(block: ParsedBlock) -> ReadReview:
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
        problem = f"{len(text):,} characters; at most {MAX_REVIEW_CHARACTERS:,}"
    elif len(findings := read_findings(text)) > MAX_FINDINGS:
        problem = f"{len(findings):,} findings; at most {MAX_FINDINGS:,}"
    else:
        return ReadReview(text, read_decision(text), findings)
    problem = f"the review has {problem} are read"
    return ReadReview(text, ParsedDecision(Decision.UNKNOWN, None, problem))


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
            KnownFinding(
                "",
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
