"""Pairs of a note and a gate: ack, override, request a review; and the page of a pair's change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.ack_selection import Pick, ack_picks, request_reviews
from review.acceptance.decide import OverrideRequest, override_acceptance
from review.domain.paths import MAX_PATH_BYTES
from review.domain.printing import count_words
from review.errors import UsageRefused
from review.knowledge_base import Corpus
from review.overview.note_page import read_note_page
from review.reviews import pair_change
from review.vocabulary import Grouping
from review.web.core import responses
from review.web.core.filters import Filters, parse_filters, read_number
from review.web.render.markdown import FindingMark, mark_findings, render_diff, render_plain

_NONE = "-"
_TRIVIAL = "trivial"
_PARTS = 5
_NAMED = 3


class NoSuchPick(UsageRefused):
    """The form names a pair in a format that our pages never write."""


def write_pick(pick: Pick) -> str:
    """Encode a pair as the value of a checkbox; the form holds the note once."""
    digests = (pick.note_sha256, pick.gate_sha256)
    parts = (pick.model_partition, *digests, pick.review_pair_id, pick.gate_id)
    return " ".join(_NONE if part is None else str(part) for part in parts)


def read_picks(request: HttpRequest) -> list[Pick]:
    """The pairs that were ticked, of the form's `note`; all trivial ones if the button says so."""
    note = responses.required(request, "note", max_length=MAX_PATH_BYTES)
    name = _TRIVIAL if request.POST.get("also") == _TRIVIAL else "pick"
    picks = []
    for value in request.POST.getlist(name):
        parts = value.split(" ", _PARTS - 1)
        if len(parts) != _PARTS or (read_number(parts[3]) is None and parts[3] != _NONE):
            raise NoSuchPick("a pair in the form cannot be read", hint="reload the page")
        note_sha256, gate_sha256 = (None if part == _NONE else part for part in parts[1:3])
        pair_id = read_number(parts[3])
        picks.append(Pick(note, parts[4], parts[0], note_sha256, gate_sha256, pair_id))
    return picks


@require_POST
def ack(request: HttpRequest) -> HttpResponse:
    responses.require_permission(request, "review.change_acceptance")
    picks = read_picks(request)
    said = {"actor": responses.actor(request), "reason": responses.field(request, "reason")}
    corpus, now = Corpus(settings.current()), timezone.now()
    answers = ack_picks(picks, **said, corpus=corpus, now=now)
    acked = [item.gate_id for answer in answers for item in answer.acked]
    fresh = [item.gate_id for answer in answers for item in answer.already_fresh]
    refused = [item.message for answer in answers for item in answer.refused]
    if acked:
        messages.success(request, f"Acked{_gates(acked)}.")
    if fresh:
        messages.info(request, f"Fresh already{_gates(fresh)}.")
    if refused:
        messages.warning(request, f"Not acked: {_and_more(refused, '; ')}")
    return responses.after_post(request, reverse("note", args=[picks[0].note_path]))


@require_POST
def override(request: HttpRequest) -> HttpResponse:
    """Accept today's texts of a pair as passed, without a review."""
    responses.require_permission(request, "review.change_reviewpair")
    note = responses.required(request, "note", max_length=MAX_PATH_BYTES)
    wanted = OverrideRequest(
        note=note,
        gates=(responses.required(request, "gate", max_length=MAX_PATH_BYTES),),
        model_partition=responses.required(request, "model"),
        reason=responses.required(request, "reason"),
        actor=responses.actor(request),
        expect_note_sha256=responses.required(request, "note_sha256"),
        expect_gate_sha256=responses.required(request, "gate_sha256"),
    )
    answer = override_acceptance(wanted, corpus=Corpus(settings.current()), now=timezone.now())
    names = ", ".join(pair.gate_id for pair in answer.overridden)
    return responses.after_post(
        request, reverse("note", args=[note]), message=f"Overridden: {names} passes for {note}."
    )


@require_POST
def request_review(request: HttpRequest) -> HttpResponse:
    responses.require_permission(request, responses.CHANGE_JOBS)
    picks = read_picks(request)
    request_picks(request, picks)
    return responses.after_post(request, reverse("note", args=[picks[0].note_path]))


def request_picks(
    request: HttpRequest, picks: Sequence[Pick], *, grouping: Grouping = Grouping.NOTE
) -> None:
    """Queue jobs for the pairs, and report which were made, and which pairs are in none."""
    config, now = settings.current(), timezone.now()
    answers = request_reviews(
        picks, grouping=grouping, actor=responses.actor(request), config=config, now=now
    )
    jobs = [job for answer in answers for job in answer.jobs]
    skipped = [item for answer in answers for item in answer.skipped]
    if jobs:
        pairs = count_words(sum(job.pair_count for job in jobs), "pair")
        made = f"Requested: {pairs} in {count_words(len(jobs), 'queued job')}."
        messages.success(request, f"{made} Run them with: commonplace run_review_jobs --all")
    if skipped:
        named = [f"{item.note_path} {item.gate_id}: {item.reason}" for item in skipped]
        messages.warning(request, f"Not requested: {_and_more(named, '; ')}")


def _gates(gate_ids: Sequence[str]) -> str:
    """The gates of pairs, each once; with the number of pairs where partitions share a gate."""
    names = list(dict.fromkeys(gate_ids))
    number = f" {count_words(len(gate_ids), 'pair')}" if len(names) < len(gate_ids) else ""
    return f"{number}: {_and_more(names, ', ')}"


def _and_more(items: Sequence[str], between: str) -> str:
    named = between.join(items[:_NAMED])
    return named if len(items) <= _NAMED else f"{named} and {len(items) - _NAMED} more"


_ALL = "all"
_DIFF_FILTERS = {
    "gate": None,
    "model": None,
    "against": [word.value for word in pair_change.Against],
    "lines": [_ALL],
}


def diff(request: HttpRequest, note_path: str) -> HttpResponse:
    """Show the changes of one pair; without a gate and a model, the pairs to choose from."""
    filters = parse_filters(request, _DIFF_FILTERS)
    with Corpus(settings.current()) as corpus:
        if not filters.one("gate") or not filters.one("model"):
            return _choose(request, filters, note_path, corpus)
        wanted = pair_change.ChangeRequest(
            note_path=note_path,
            gate_id=filters.one("gate"),
            model_partition=filters.one("model"),
            against=pair_change.Against(filters.one("against", pair_change.Against.ACCEPTED)),
            all_lines=filters.one("lines") == _ALL,
        )
        context = partial(_context, filters, wanted, corpus)
        document = partial(pair_change.change_document, corpus, wanted)
        return responses.page(request, "review/diff.html", context, document=document)


def _choose(request: HttpRequest, filters: Filters, note_path: str, corpus: Corpus) -> HttpResponse:
    document = read_note_page(corpus, note_path, (), None).document
    pairs = [
        row
        for row in document.pairs
        if row.accepted_at and filters.accepts(gate=row.gate_id, model=row.model_partition)
    ]
    context = {"filters": filters, "note_path": document.note_path, "pairs": pairs}
    return responses.page(request, "review/diff_choice.html", context, document=document)


def _context(filters: Filters, wanted: pair_change.ChangeRequest, corpus: Corpus) -> dict[str, Any]:
    change = pair_change.read_pair_change(corpus, wanted)
    row = change.accepted
    digests = (change.note.now_sha256, change.gate.now_sha256)
    key = (row.note.path, change.gate_id, wanted.model_partition)
    return {
        "filters": filters,
        "change": change,
        "event": row.event,
        "note_path": row.note.path,
        "model_partition": wanted.model_partition,
        "note_html": _html(change.note, mark_findings(change.findings)),
        "gate_html": _html(change.gate, []),
        "loose": [finding for finding, line in change.findings if line is None],
        "against": wanted.against.value,
        # An ack accepts these two texts and no others.
        "pick": write_pick(Pick(*key, *digests, row.event.review_pair_id)),
    }


def _html(file: pair_change.FileChange, marks: list[FindingMark]) -> str:
    if file.diff is not None:
        return render_diff(file.diff, marks=marks)
    return render_plain(file.before.text, quotes=marks) if file.now is None else ""
