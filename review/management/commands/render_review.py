"""Show the review that stands for a note, by each gate and partition, or one review by its pair:
decision, provenance, the exact texts, findings with lines, and the review's text. Notes that are
gone have their reviews too.

    commonplace render_review --note kb/notes/a.md
    commonplace render_review --note kb/notes/a.md --gate prose/source-residue --model rules
    commonplace render_review --review-pair-id 31 --json
"""

from __future__ import annotations

import re

from review.findings.states import QueueFindingJson
from review.management import kit
from review.management.kit.output import finding_state, one_line
from review.reviews.read import (
    AcceptanceJson,
    HistoryRequest,
    RenderedJson,
    ReviewJson,
    read_reviews,
)


class Command(kit.ReadingCommand):
    exit_codes = {kit.ExitCode.INPUT_REJECTED: "there is no such review; what is near is named"}
    arguments = {
        "note": kit.OneOf(
            {"--note PATH": "the reviews of this note", "--review-pair-id N": "this review alone"},
            required=True,
        ),
        "--gate ID": "with --note: by this gate, by id or path",
        "--model P": "with --note: in this model partition",
    }

    def run(self, options: kit.Options) -> None:
        kit.require_option(options, "note", "gate", "model")
        request = kit.request_of(HistoryRequest, options, pair_id=options["review_pair_id"])
        rendered = read_reviews(self.corpus, request)
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


def review_lines(rendered: RenderedJson) -> kit.Lines:
    """Every review under a heading of its own, then the acceptances without one."""
    for number, review in enumerate(rendered.reviews):
        if number:
            yield from ("", "---", "")
        yield from _review(review)
    for accepted in rendered.unreviewed:
        yield ""
        yield f"{accepted.note_path} {accepted.gate_id} ({accepted.model_partition}): no review;"
        yield f"  {_accepted(accepted)}"


def _review(review: ReviewJson) -> kit.Lines:
    which = "this review" if review.is_current else "not this review"
    accepted = f"{which}: {_accepted(review.acceptance)}" if review.acceptance else ""
    longest = max(map(len, re.findall(r"`+", review.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return kit.told(
        f"# Review {review.review_pair_id}: {review.note_path} by {review.gate_id}",
        *(("", f"> {banner}") for banner in _banners(review)),
        ("", f"- decision: {_decision(review)}", f"- model partition: {review.model_partition}"),
        _provenance(review),
        f"- job {review.review_job_id}, reviewed at {review.reviewed_at}",
        (
            f"- {name}: {file.path}, sha256 {file.sha256}, {_FILE_STATES[file.now]}"
            for name, file in (("note", review.note), ("gate", review.gate))
        ),
        f"- acceptance: {accepted or 'none; the pair is stale'}",
        ("", "## Findings", ""),
        *map(_finding_lines, review.findings),
        None if review.findings else "none listed",
        ("", "## Text", "", f"{fence}markdown"),
        review.text.removesuffix("\n").split("\n"),
        fence,
    )


def _finding_lines(finding: QueueFindingJson) -> kit.Lines:
    place, text = _place(finding), one_line(finding.text)
    return kit.told(
        f"- {finding.severity.upper()}{place}: {text} [{finding_state(finding)}]",
        f"  > {one_line(finding.quote)}" if finding.quote else None,
    )


def _banners(review: ReviewJson) -> kit.Lines:
    because, later = review.not_accepted_because, review.later_review_pair_id
    is_past = review.acceptance is not None and not review.is_current
    why = _NOT_ACCEPTED[because].format(review.review_pair_id) if because else None
    return kit.told(
        None if review.is_current else why,
        f"A later review of this note and gate in this partition: {later}." if later else None,
        "Another review or decision counts now; see the acceptance below."
        if is_past and not because
        else None,
    )


def _decision(review: ReviewJson) -> str:
    parsed = f"{review.parsed_decision.upper()} ({_SOURCES[review.decision_source]})"
    if review.problem:
        parsed += f"; {one_line(review.problem)}"
    if not review.person_decisions:
        return parsed
    last = review.person_decisions[-1]
    by = f"decided by {one_line(last.actor)} at {last.at}: {one_line(last.reason)}"
    return f"{last.decision.upper()}, {by}; the text was read as {parsed}"


def _provenance(review: ReviewJson) -> kit.Lines:
    given = review.provenance
    named = {"runner": given.runner, "model": given.runner_model, "effort": given.runner_effort}
    known = [f"{name} {one_line(value)}" for name, value in named.items() if value is not None]
    by = f", by {one_line(given.claimed_by)} at {given.claimed_at}" if given.claimed_by else ""
    seen = {
        "models in the telemetry": ", ".join(given.telemetry_models),
        "model that the output names itself, a claim": given.self_reported_model,
        "**problem**": given.claim_problem,
    }
    return kit.told(
        f"- provenance at dispatch, as the parent said: {', '.join(known) or 'none'}{by}",
        (f"- {what}: {one_line(value)}" for what, value in seen.items() if value),
    )


def _accepted(row: AcceptanceJson) -> str:
    pair = f", review {row.review_pair_id}" if row.review_pair_id else ""
    why = f": {one_line(row.reason)}" if row.reason else ""
    return (
        f"{row.kind}, decided {row.decision}{pair}, by {one_line(row.actor)} at {row.accepted_at},"
        f" note sha256 {row.note_sha256[:12]}{why}"
    )


def _place(finding: QueueFindingJson) -> str:
    if finding.line is None:
        return ""
    now = f" (today {finding.line_now})" if finding.line_now else " (not found today)"
    return f", line {finding.line}{'' if finding.line_now == finding.line else now}"
