"""What reviews said: one review, or the ones that stand for a note, deleted notes too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from review.conf import Config
from review.contracts.reviews import RenderedJson
from review.corpus import Corpus
from review.domain.identity import gate_path_of, near_matches, path_below
from review.errors import InputRejected
from review.models import CurrentAcceptance, KbPath, ReviewJob, ReviewPair
from review.models.acceptances import CurrentAcceptanceQuerySet
from review.queries.review_details import DetailedReviews, Shown, Told, acceptance_json
from review.vocabulary import PairStatus


class NoReview(InputRejected):
    """There is no review of that note, gate or pair."""


@dataclass(frozen=True)
class HistoryRequest:
    """One pair by its id, or the reviews that stand for a note; empty filters keep all.

    :param note: a path below the root, as written; the file may be gone.
    :param gate: a gate id or the path of a gate; its file may be gone.
    """

    pair_id: int | None = None
    note: str = ""
    gate: str = ""
    model_partition: str = ""


def read_reviews(
    corpus: Corpus,
    request: HistoryRequest,
    *,
    config: Config,
    tell: Callable[[ReviewJob], Told],
) -> RenderedJson:
    """The reviews asked for, sorted by gate path and partition.

    A note's review for a gate and partition is the evidence of the current acceptance, else the
    latest completed one.

    :param tell: what a job's output and harness say of the model that ran.
    :raises NoReview: there is none; says what is near.
    :raises BadPath: the note or gate is no path below the root.
    """
    unreviewed: list[CurrentAcceptance] = []
    if request.pair_id is not None:
        shown = [_one(request.pair_id)]
    else:
        shown, unreviewed = _of_note(request, config)
    details = DetailedReviews(corpus, config=config, tell=tell)
    return RenderedJson(
        reviews=[details.show(item) for item in shown],
        unreviewed=[acceptance_json(row, config.gates_folder) for row in unreviewed],
    )


def _one(pair_id: int) -> Shown:
    pair = _pairs([pair_id]).get(pair_id)
    if pair is None:
        raise NoReview(f"no review pair {pair_id} in this store", hint=_LIST)
    if pair.status != PairStatus.COMPLETED:
        raise NoReview(
            f"pair {pair_id} has no review: it is {pair.status}, and its job {pair.job_id} is"
            f" {pair.job.status}",
            hint=f"its prompt is {pair.job.prompt_path}",
        )
    key = (pair.note_id, pair.gate_id, pair.job.model_partition_id)
    rows = _acceptances().filter(note_id=key[0], gate_id=key[1], model_partition_id=key[2])
    return Shown(pair, pair.note.path, pair.gate.path, rows.first())


def _of_note(
    request: HistoryRequest, config: Config
) -> tuple[list[Shown], list[CurrentAcceptance]]:
    note_path = path_below(str(config.root), request.note)
    gate_path = _gate_path(request.gate, config)
    current = _acceptances().filter(note__path=note_path)
    completed = ReviewPair.objects.completed().filter(note__path=note_path)
    if gate_path:
        current, completed = (
            current.filter(gate__path=gate_path),
            completed.filter(gate__path=gate_path),
        )
    if request.model_partition:
        current = current.of_partition(request.model_partition)
        completed = completed.filter(job__model_partition__name=request.model_partition)
    accepted = {(row.gate.path, row.model_partition.name): row for row in current}
    latest = {
        (gate, partition): pair_id
        for gate, partition, pair_id in completed.order_by("pk").values_list(
            "gate__path", "job__model_partition__name", "pk"
        )
    }
    chosen = latest | {
        key: row.event.review_pair_id for key, row in accepted.items() if row.event.review_pair_id
    }
    if not chosen and not accepted:
        raise _none_of(note_path, gate_path, request)
    pairs = _pairs(list(chosen.values()))
    shown = [
        Shown(pairs[pair_id], note_path, key[0], accepted.get(key))
        for key, pair_id in sorted(chosen.items())
    ]
    return shown, [row for key, row in sorted(accepted.items()) if key not in chosen]


def _gate_path(gate: str, config: Config) -> str:
    if not gate:
        return ""
    path = path_below(str(config.root), gate)
    if path.startswith(f"{config.gates_folder}/"):
        return path
    return gate_path_of(path, gates_folder=config.gates_folder)


def _acceptances() -> CurrentAcceptanceQuerySet:
    return (
        CurrentAcceptance.objects.select_related(
            "event", "note", "gate", "model_partition", "note_snapshot", "gate_snapshot"
        )
        .defer("note_snapshot__text", "gate_snapshot__text")
        .order_by("pk")
    )


def _pairs(pair_ids: Sequence[int]) -> dict[int, ReviewPair]:
    return (
        ReviewPair.objects.select_related(
            "note", "gate", "job__model_partition", "note_snapshot", "gate_snapshot"
        )
        .defer("note_snapshot__text", "gate_snapshot__text")
        .in_bulk([pair_id for pair_id in pair_ids if pair_id <= _LARGEST_KEY])
    )


_LARGEST_KEY = (1 << 63) - 1
_LIST = "pairs and their ids are in: commonplace review_job_list --json"


def _none_of(note_path: str, gate_path: str, request: HistoryRequest) -> NoReview:
    """The refusal; names what the note has reviews of, else notes that have reviews."""
    by = f" by {gate_path}" if gate_path else ""
    where = f" in partition {request.model_partition}" if request.model_partition else ""
    what = f"no review of {note_path}{by}{where}"
    reviews = ReviewPair.objects.completed().filter(note__path=note_path)
    known = set(reviews.values_list("gate__path", "job__model_partition__name"))
    if known:
        gates = sorted({gate for gate, _partition in known})
        near = near_matches(gate_path, gates) if gate_path not in gates else (gate_path,)
        names = sorted(f"{gate} in {name}" for gate, name in known if gate in (near or gates))
        return NoReview(what, hint=f"it has reviews by {', '.join(names[:5])}")
    reviewed = KbPath.objects.filter(
        pk__in=ReviewPair.objects.completed().values("note_id").distinct()
    )
    near = near_matches(note_path, reviewed.values_list("path", flat=True))
    lacks = f"what it lacks: commonplace review_target_selector --all-gates --note {note_path}"
    return NoReview(what, hint=f"did you mean {', '.join(near)}?" if near else lacks)
