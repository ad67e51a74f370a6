"""Takes along what people decided about findings, when the review of a text is carried over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from review.domain.finding_identity import own_fingerprints
from review.models import Disposition, Finding, batched


@dataclass(frozen=True)
class CarriedReview:
    """A review whose findings are known under other paths from now on.

    :param own: the paths that the review judged; `old` differs from it after an earlier move.
    """

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
    found = []
    by_pair: dict[int, list[CarriedReview]] = {}
    for review in reviews:
        by_pair.setdefault(review.review_pair_id, []).append(review)
    for chunk in batched(sorted(by_pair), 500):
        rows = Finding.objects.filter(pair_id__in=chunk).order_by("pair_id", "ordinal")
        for pair_id, group in groupby(rows, key=attrgetter("pair_id")):
            findings = list(group)
            for review in by_pair[pair_id]:
                old = [finding.fingerprint for finding in findings]
                if review.old != review.own:
                    old = _fingerprints_at(review.old, findings)
                new = _fingerprints_at(review.new, findings)
                found += [(review, *values) for values in zip(old, new, strict=True)]
    return found


def _fingerprints_at(paths: tuple[str, str], findings: list[Finding]) -> list[str]:
    note_path, gate_path = paths
    return own_fingerprints(findings, note_path=note_path, gate_path=gate_path)


def _copy(row: Disposition, mark: str) -> Disposition:
    return Disposition(
        fingerprint=mark,
        state=row.state,
        reason=row.reason,
        actor=row.actor,
        note_sha256=row.note_sha256,
        at=row.at,
    )
