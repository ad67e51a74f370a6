"""Show the review that stands for a note, by each gate and partition, or one review by its pair:
decision, provenance, the exact texts, findings with lines, and the review's text. Notes that are
gone have their reviews too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from review import settings
from review.errors import ExitCode
from review.findings.documents import QueueFindingJson
from review.knowledge_base.opening import open_corpus
from review.management.kit.arguments import one_of
from review.management.kit.command import ReadingCommand, request_of, require_option
from review.reviews.documents import AcceptanceJson, RenderedJson, ReviewJson
from review.reviews.read import HistoryRequest, read_reviews
from review.vocabulary import DispositionState


class Command(ReadingCommand):
    examples = (
        "commonplace render_review --note kb/notes/a.md",
        "commonplace render_review --note kb/notes/a.md --gate prose/source-residue --model rules",
        "commonplace render_review --review-pair-id 31 --json",
    )
    exit_codes = {ExitCode.INPUT_REJECTED: "there is no such review; what is near is named"}
    arguments = {
        "note": one_of(
            {"--note PATH": "the reviews of this note", "--review-pair-id N": "this review alone"},
            required=True,
        ),
        "--gate ID": "with --note: by this gate, by id or path",
        "--model P": "with --note: in this model partition",
    }

    def handle(self, *args: Any, **options: Any) -> None:
        require_option(options, "note", "gate", "model")
        request = request_of(
            HistoryRequest,
            options,
            pair_id=options["review_pair_id"],
            model_partition=options["model"] or "",
        )
        config = settings.current()
        with open_corpus(config) as corpus:
            rendered = read_reviews(corpus, request, config=config)
        self.show(rendered, review_lines(rendered))


_SOURCES = {
    "result-line": "its result line says so",
    "declared": "declared in the text, not in a result line",
    "typed": "reported as data, not as text",
    None: "no decision could be read",
}
_DECIDE = (
    "A person may decide: `commonplace set_decision --review-pair-id {} --as WORD --reason WHY`."
)
_NOT_ACCEPTED = {
    "superseded": "**Superseded**: a later text of the note or gate was accepted before this"
    " review came in. It is kept as evidence.",
    "decision-error": f"**Not accepted**: the reviewer could not judge. {_DECIDE}",
    "decision-unknown": f"**Not accepted**: no decision could be read. {_DECIDE}",
    "quotes-of-another-note": f"**Not accepted**: its quotes stand in another note. {_DECIDE}",
    "trial": "**Trial**: the text is a case of the gate, and no note.",
    "partition-mismatch": "**Not accepted**: telemetry says that another model ran. The text is"
    " kept as evidence.",
}
_FILE_STATES = {"same": "unchanged since", "changed": "**changed since**", "gone": "**gone**"}


def review_lines(rendered: RenderedJson) -> Iterator[str]:
    """Every review under a heading of its own, then the acceptances without one."""
    for number, review in enumerate(rendered.reviews):
        if number:
            yield from ("", "---", "")
        yield from _review(review)
    for accepted in rendered.unreviewed:
        yield ""
        yield f"{accepted.note_path} {accepted.gate_id} ({accepted.model_partition}): no review;"
        yield f"  {_accepted(accepted)}"


def _review(review: ReviewJson) -> Iterator[str]:
    yield f"# Review {review.review_pair_id}: {review.note_path} by {review.gate_id}"
    for banner in _banners(review):
        yield from ("", f"> {banner}")
    yield ""
    yield f"- decision: {_decision(review)}"
    yield f"- model partition: {review.model_partition}"
    yield from _provenance(review)
    yield f"- job {review.review_job_id}, reviewed at {review.reviewed_at}"
    for name, file in (("note", review.note), ("gate", review.gate)):
        yield f"- {name}: {file.path}, sha256 {file.sha256}, {_FILE_STATES[file.now]}"
    yield f"- acceptance: {_acceptance(review)}"
    yield from ("", "## Findings", "")
    yield from _findings(review)
    yield from ("", "## Text", "")
    yield from _fenced(review.text)


def _banners(review: ReviewJson) -> Iterator[str]:
    because = review.not_accepted_because
    if because and not review.is_current:
        yield _NOT_ACCEPTED[because].format(review.review_pair_id)
    if review.later_review_pair_id is not None:
        yield f"A later review of this note and gate in this partition: {review.later_review_pair_id}."
    if review.acceptance is not None and not review.is_current and not because:
        yield "Another review or decision counts now; see the acceptance below."


def _decision(review: ReviewJson) -> str:
    parsed = f"{review.parsed_decision.upper()} ({_SOURCES[review.decision_source]})"
    if review.problem:
        parsed += f"; {_line(review.problem)}"
    if not review.person_decisions:
        return parsed
    last = review.person_decisions[-1]
    return (
        f"{last.decision.upper()}, decided by {_line(last.actor)} at {last.at}:"
        f" {_line(last.reason)}; the text was read as {parsed}"
    )


def _provenance(review: ReviewJson) -> Iterator[str]:
    told = review.provenance
    known = [
        f"{name} {_line(value)}"
        for name, value in (
            ("runner", told.runner),
            ("model", told.runner_model),
            ("effort", told.runner_effort),
        )
        if value is not None
    ]
    by = f", by {_line(told.claimed_by)} at {told.claimed_at}" if told.claimed_by else ""
    yield f"- provenance at dispatch, as the parent said: {', '.join(known) or 'none'}{by}"
    if told.telemetry_models:
        yield f"- models in the telemetry: {_line(', '.join(told.telemetry_models))}"
    if told.self_reported_model:
        yield f"- model that the output names itself, a claim: {_line(told.self_reported_model)}"
    if told.claim_problem:
        yield f"- **problem**: {_line(told.claim_problem)}"


def _acceptance(review: ReviewJson) -> str:
    if review.acceptance is None:
        return "none; the pair is stale"
    which = "this review" if review.is_current else "not this review"
    return f"{which}: {_accepted(review.acceptance)}"


def _accepted(row: AcceptanceJson) -> str:
    pair = f", review {row.review_pair_id}" if row.review_pair_id else ""
    why = f": {_line(row.reason)}" if row.reason else ""
    return (
        f"{row.kind}, decided {row.decision}{pair}, by {_line(row.actor)} at {row.accepted_at},"
        f" note sha256 {row.note_sha256[:12]}{why}"
    )


def _findings(review: ReviewJson) -> Iterator[str]:
    if not review.findings:
        yield "none listed"
    for finding in review.findings:
        yield f"- {finding.severity.upper()}{_place(finding)}: {_line(finding.text)} [{_state(finding)}]"
        if finding.quote:
            yield f"  > {_line(finding.quote)}"


def _place(finding: QueueFindingJson) -> str:
    if finding.line is None:
        return ""
    if finding.line_now in (finding.line, None):
        return f", line {finding.line}" + ("" if finding.line_now else " (not found today)")
    return f", line {finding.line} (today {finding.line_now})"


def _state(finding: QueueFindingJson) -> str:
    again = ", regressed" if finding.regressed else ""
    state = "" if finding.status == DispositionState.OPEN else f", {finding.status}"
    return f"{finding.fingerprint}{state}{again}"


def _fenced(text: str) -> Iterator[str]:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}markdown"
    yield from text.removesuffix("\n").split("\n")
    yield fence


def _line(value: str) -> str:
    return " ".join(value.split())
