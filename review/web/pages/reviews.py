"""One review with its decision, reviews to check; ack, override, request and change of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST
from msgspec import UNSET, structs

from review import settings
from review.acceptance.ack_selection import Pick, ack_picks
from review.acceptance.decide import OverrideRequest, override_acceptance, set_decision
from review.documents.base import count_by
from review.domain.paths import MAX_PATH_BYTES
from review.errors import UsageRefused
from review.findings.states import LookJson, LooksJson
from review.knowledge_base import Corpus
from review.overview.note_page import read_note_page
from review.reviews import pair_states, read
from review.selection.freshness import in_flight
from review.vocabulary import ACCEPTING_DECISIONS, Decision, LookReason
from review.web import core
from review.web.pages.jobs import (
    and_more,
    read_picks,
    request_picks,
    write_pick,
)
from review.web.render.markdown import (
    FindingMark,
    mark_findings,
    note_links,
    render_diff,
    render_plain,
    render_text,
)
from review.web.render.tokens import Look

LOOKS_A_PAGE = 50
LOOKS_A_DOCUMENT = 100
LOOKS_FILTERS = {"why": tuple(LookReason.values), "lens": None, "partition": None}
FROM_LOOKS = "looks"
# The reason that the last decision of the list was given, offered for the next one.
LAST_REASON = "looks-reason"


def looks(request: HttpRequest) -> HttpResponse:
    filters = core.parse_filters(request, LOOKS_FILTERS)
    answer = core.needs_a_look()
    wanted = _wanted(answer.value, filters)
    notes = {look.note_path for look in wanted}
    place = filters.place(str, str, int)
    rows = [look for look in wanted if place is None or _key(look) > place]
    paged = filters.cut(rows, LOOKS_A_DOCUMENT if core.wants_json(request) else LOOKS_A_PAGE, _key)
    return core.page(
        request,
        "review/looks.html",
        lambda: {
            "filters": filters,
            "facets": _facets(filters, answer.value.needs_a_look),
            "paged": paged,
            "rows": _rows(paged.items),
            "total": len(wanted),
            "counted_at": answer.at,
            "choices": [(number, word.value) for number, word in enumerate(ACCEPTING_DECISIONS, 1)],
            "reason": request.session.get(LAST_REASON, ""),
        },
        document=lambda: structs.replace(
            answer.value,
            needs_a_look=list(paged.items),
            problems=[it for it in answer.value.problems if it.path in notes],
            next=paged.next_document or UNSET,
        ),
    )


def _rows(looks: Sequence[LookJson]) -> Iterable[tuple[LookJson, int | None, int]]:
    """Return the reviews with the open job of their pair, and the row that gets the focus next."""
    jobs = {name: in_flight(name) for name in {look.model_partition for look in looks}}
    ids = [look.review_pair_id for look in looks]
    open_jobs = [jobs[look.model_partition].get((look.note_path, look.gate_path)) for look in looks]
    return list(zip(looks, open_jobs, [*ids[1:], *ids[-2:-1], 0], strict=False))


@require_POST
@core.requires(core.CHANGE_JOBS)
def request_again(request: HttpRequest) -> HttpResponse:
    """Queue new jobs for the pairs of reviews: of a row, or of all that are ticked."""
    named = request.POST.getlist("one") or request.POST.getlist("pair")
    listed = {str(look.review_pair_id): look for look in core.needs_a_look().value.needs_a_look}
    if not listed.keys() >= {*named}:
        raise UsageRefused(
            "a review is no longer in the list", "no-such-pick", hint="reload the page"
        )
    looks = [listed[name] for name in named]
    picks = [Pick(look.note_path, look.gate_id, look.model_partition) for look in looks]
    request_picks(request, picks)
    return core.after_post(request, reverse("looks"))


def neighbours(filters: core.Filters, key: core.Key) -> dict[str, Any]:
    """Describe the list that a review (note, gate, pair) was opened from; rank 0: not in it now."""
    wanted = _wanted(core.needs_a_look().value, filters)
    before = [look for look in wanted if _key(look) < key]
    behind = [look for look in wanted if _key(look) > key]
    chosen = [(name, value) for name, value in filters.fields if name in LOOKS_FILTERS]
    carried = urlencode([("from", FROM_LOOKS), *chosen])
    previous, following = (
        f"{reverse('review', args=[found[0].review_pair_id])}?{carried}" if found else ""
        for found in (before[-1:], behind)
    )
    is_listed = len(before) + len(behind) < len(wanted)
    return {
        "list_url": f"{reverse('looks')}?{urlencode(chosen)}" if chosen else reverse("looks"),
        "previous_url": previous,
        "next_url": following,
        "rank": len(before) + 1 if is_listed else 0,
        "total": len(wanted),
    }


def _key(look: LookJson) -> core.Key:
    return (look.note_path, look.gate_path, look.review_pair_id)


def _wanted(found: LooksJson, filters: core.Filters) -> list[LookJson]:
    return [
        look
        for look in found.needs_a_look
        if filters.accepts(why=look.why, lens=look.lens, partition=look.model_partition)
    ]


def _facets(filters: core.Filters, found: Iterable[LookJson]) -> list[object]:
    counts = count_by(found, why="why", lens="lens", partition="model_partition")
    whys = {word: counts["why"].get(word, 0) for word in LookReason.values}
    return [
        filters.facet("why", "Why", whys, labels=core.label),
        filters.facet("lens", "Lens", dict(sorted(counts["lens"].items()))),
        filters.facet("partition", "Model partition", dict(sorted(counts["partition"].items()))),
    ]


_KNOWN = {
    "show": [part.value for part in read.ReviewPart],
    "as": ["lines"],
    "from": [FROM_LOOKS],
    **LOOKS_FILTERS,
}


def review(request: HttpRequest, pair_id: int) -> HttpResponse:
    filters = core.parse_filters(request, _KNOWN)
    corpus = Corpus(settings.current())
    document = read.read_reviews(corpus, read.HistoryRequest(pair_id=pair_id))
    context = partial(_context, filters, document.reviews[0], corpus)
    return core.page(request, "review/review.html", context, document=document)


def _context(filters: core.Filters, shown: read.ReviewJson, corpus: Corpus) -> dict[str, Any]:
    part = read.ReviewPart(filters.one("show", read.ReviewPart.REVIEW))
    is_review = part is read.ReviewPart.REVIEW
    text = shown.text if is_review else read.text_of_review(shown.review_pair_id, part)
    findings = shown.findings if part is read.ReviewPart.NOTE else []
    links = note_links(corpus, shown.note_path)
    look = Look(
        link_to=None if part is read.ReviewPart.GATE else links,
        # A review's own headings begin at the third level (the prompt's template).
        headings=(0, 3) if is_review else (2, 3),
        flavour=corpus.flavour,
    )
    marks = mark_findings((item, item.line) for item in findings)
    can_override = "gone" not in (shown.note.now, shown.gate.now)
    key = (shown.note_path, shown.gate_path, shown.review_pair_id)
    return {
        "filters": filters,
        "review": shown,
        "part": part.value,
        "judged": {read.ReviewPart.NOTE: shown.note, read.ReviewPart.GATE: shown.gate}.get(part),
        "html": render_text(text, look, by_lines="as" in filters.values, quotes=marks),
        "choices": [word.value for word in ACCEPTING_DECISIONS],
        "beside": neighbours(filters, key) if "from" in filters.values else None,
        "can_override": can_override,
        # An override accepts exactly the texts that are on disk while the page is made.
        "note_now": corpus.read_note(shown.note_path) if can_override else None,
        "gate_now": corpus.gate(shown.gate_path) if can_override else None,
    }


@require_POST
@core.requires("review.change_reviewpair")
def decide(request: HttpRequest, pair_id: int) -> HttpResponse:
    word = request.POST.get("decision", "")
    if word not in ACCEPTING_DECISIONS:
        raise UsageRefused("choose pass, warn or fail", "no-decision")
    reason, config = core.required(request, "reason"), settings.current()
    said = {"reason": reason, "actor": core.actor(request)}
    answer = set_decision(pair_id, Decision(word), **said, config=config, now=timezone.now())
    place = reverse("review", args=[pair_id])
    if not answer.accepted:
        why = "It does not move the acceptance: a later text was accepted in the meantime."
        kept = f"Your decision, {word}, is kept with the review. {why}"
        core.report(request, warning=kept)
        return core.after_post(request, place)
    focus = "" if request.POST.get(core.NEXT) else "decision"
    if following := core.read_number(request.GET.get("following", "")):
        request.session[LAST_REASON], focus = reason, f"look-{following}"
    told = f"Decided: {answer.gate_id} is {word} for {answer.note_path}."
    core.report(request, success=told)
    return core.after_post(request, place, focus=focus)


def review_text(request: HttpRequest, pair_id: int, part: str) -> HttpResponse:
    if part not in list(read.ReviewPart):
        raise Http404
    return _raw(read.text_of_review(pair_id, read.ReviewPart(part)))


def snapshot(request: HttpRequest, snapshot_id: int) -> HttpResponse:
    return _raw(read.snapshot_text(snapshot_id))


def _raw(text: str) -> HttpResponse:
    # `nosniff` comes with every answer; without it a browser might take these bytes for a page.
    data = text.encode("utf-8", "surrogatepass")
    return HttpResponse(data, content_type="text/plain; charset=utf-8")


@require_POST
@core.requires("review.change_acceptance")
def ack(request: HttpRequest) -> HttpResponse:
    picks = read_picks(request)
    said = {"actor": core.actor(request), "reason": core.field(request, "reason")}
    corpus, now = Corpus(settings.current()), timezone.now()
    answers = ack_picks(picks, **said, corpus=corpus, now=now)
    acked = [item.gate_id for answer in answers for item in answer.acked]
    fresh = [item.gate_id for answer in answers for item in answer.already_fresh]
    refused = [item.message for answer in answers for item in answer.refused]
    core.report(
        request,
        success=f"Acked{_gates(acked)}." if acked else "",
        info=f"Already fresh{_gates(fresh)}." if fresh else "",
        warning=f"Not acked: {and_more(refused, '; ')}" if refused else "",
    )
    return core.after_post(request, reverse("note", args=[picks[0].note_path]))


@require_POST
@core.requires("review.change_reviewpair")
def override(request: HttpRequest) -> HttpResponse:
    """Accept today's texts of a pair as passed, without a review."""
    note = core.required(request, "note", max_length=MAX_PATH_BYTES)
    wanted = OverrideRequest(
        note=note,
        gates=(core.required(request, "gate", max_length=MAX_PATH_BYTES),),
        model_partition=core.required(request, "model"),
        reason=core.required(request, "reason"),
        actor=core.actor(request),
        expect_note_sha256=core.required(request, "note_sha256"),
        expect_gate_sha256=core.required(request, "gate_sha256"),
    )
    answer = override_acceptance(wanted, corpus=Corpus(settings.current()), now=timezone.now())
    names = ", ".join(pair.gate_id for pair in answer.overridden)
    core.report(request, success=f"Overridden: {names} passes for {note}.")
    return core.after_post(request, reverse("note", args=[note]))


@require_POST
@core.requires(core.CHANGE_JOBS)
def request_review(request: HttpRequest) -> HttpResponse:
    picks = read_picks(request)
    request_picks(request, picks)
    return core.after_post(request, reverse("note", args=[picks[0].note_path]))


def _gates(gate_ids: Sequence[str]) -> str:
    """The gates of pairs, each once; with the number of pairs where partitions share a gate."""
    names = list(dict.fromkeys(gate_ids))
    number = f" {core.count_words(len(gate_ids), 'pair')}" if len(names) < len(gate_ids) else ""
    return f"{number}: {and_more(names, ', ')}"


_REVIEWED, _ALL = "reviewed", "all"
_DIFF_FILTERS = {
    "gate": None,
    "model": None,
    "against": ["accepted", _REVIEWED],
    "lines": [_ALL],
}


def diff(request: HttpRequest, note_path: str) -> HttpResponse:
    """Show the changes of one pair; without a gate and a model, the pairs to choose from."""
    filters = core.parse_filters(request, _DIFF_FILTERS)
    key = (note_path, filters.one("gate"), filters.one("model"))
    with Corpus(settings.current()) as corpus:
        if not all(key):
            return _choose(request, filters, note_path, corpus)
        context = partial(_change_context, filters, key, corpus)
        document = partial(pair_states.change_document, corpus, *key)
        return core.page(request, "review/diff.html", context, document=document)


def _choose(
    request: HttpRequest, filters: core.Filters, note_path: str, corpus: Corpus
) -> HttpResponse:
    document = read_note_page(corpus, note_path, (), None).document
    pairs = [
        row
        for row in document.pairs
        if row.accepted_at and filters.accepts(gate=row.gate_id, model=row.model_partition)
    ]
    context = {"filters": filters, "note_path": document.note_path, "pairs": pairs}
    return core.page(request, "review/diff_choice.html", context, document=document)


def _change_context(
    filters: core.Filters, key: tuple[str, str, str], corpus: Corpus
) -> dict[str, Any]:
    against, partition = filters.one("against", "accepted"), key[2]
    change = pair_states.read_pair_change(
        corpus, *key, since_review=against == _REVIEWED, all_lines="lines" in filters.values
    )
    row = change.accepted
    texts = (change.note.now_sha256, change.gate.now_sha256, row.event.review_pair_id)
    return {
        "filters": filters,
        "change": change,
        "event": row.event,
        "note_path": row.note.path,
        "model_partition": partition,
        "note_html": _html(change.note, mark_findings(change.findings)),
        "gate_html": _html(change.gate, []),
        "loose": [finding for finding, line in change.findings if line is None],
        "against": against,
        # An ack accepts these two texts and no others.
        "pick": write_pick(Pick(row.note.path, change.gate_id, partition, *texts)),
    }


def _html(file: pair_states.FileChange, marks: list[FindingMark]) -> str:
    if file.diff is not None:
        return render_diff(file.diff, marks=marks)
    return render_plain(file.before.text, quotes=marks) if file.now is None else ""
