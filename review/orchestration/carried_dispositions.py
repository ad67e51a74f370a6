"""Takes along what people decided about findings, when the review of a text is carried over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from review.domain.dispositions import review_fingerprint
from review.domain.identity import fingerprint
from review.models import Disposition, Finding, batched


@dataclass(frozen=True)
class CarriedReview:
    """A review whose findings are known under other paths from now on.

    :param partition: of the model that reviewed.
    :param own: the paths that the review judged; `old` differs from it after an earlier move.
    """

    partition: str
    review_pair_id: int
    own: tuple[str, str]
    old: tuple[str, str]
    new: tuple[str, str]


@dataclass(frozen=True)
class CarriedDisposition:
    """A disposition for the fingerprint that a finding has under its new path."""

    review: CarriedReview
    disposition: Disposition


def carried_dispositions(reviews: Sequence[CarriedReview]) -> list[CarriedDisposition]:
    """The latest disposition of each finding, as a row to be stored for its new fingerprint.

    It says who decided, why and when, as the old one did. A fingerprint about which somebody
    decided already is left alone. In the order in which they were made: the last one counts.
    """
    marks = _marks(reviews)
    decided = Disposition.objects.latest_of(old for _review, old, _new in marks)
    there = Disposition.objects.latest_of(new for _review, _old, new in marks)
    copies = {
        (new, decided[old].pk): CarriedDisposition(review, _copy(decided[old], new))
        for review, old, new in marks
        if old in decided and new not in there
    }
    return [copies[key] for key in sorted(copies, key=lambda key: key[1])]


def _marks(reviews: Sequence[CarriedReview]) -> list[tuple[CarriedReview, str, str]]:
    found = [
        (review, _own_mark(review.old, review.partition), _own_mark(review.new, review.partition))
        for review in reviews
    ]
    by_pair: dict[int, list[CarriedReview]] = {}
    for review in reviews:
        by_pair.setdefault(review.review_pair_id, []).append(review)
    for chunk in batched(sorted(by_pair), 500):
        for finding in Finding.objects.filter(pair_id__in=chunk).order_by("pk"):
            for review in by_pair[finding.pair_id]:
                old = finding.fingerprint
                if review.old != review.own:
                    old = _mark(finding, review.old)
                found.append((review, old, _mark(finding, review.new)))
    return found


def _mark(finding: Finding, paths: tuple[str, str]) -> str:
    note_path, gate_path = paths
    return fingerprint(
        note_path=note_path, gate_path=gate_path, quote=finding.quote, text=finding.text
    )


def _own_mark(paths: tuple[str, str], partition: str) -> str:
    note_path, gate_path = paths
    return review_fingerprint(note_path=note_path, gate_path=gate_path, partition=partition)


def _copy(row: Disposition, mark: str) -> Disposition:
    return Disposition(
        fingerprint=mark,
        state=row.state,
        reason=row.reason,
        actor=row.actor,
        note_sha256=row.note_sha256,
        at=row.at,
    )
