"""Why a note is stale, in one place: what changed since each accepted text, and for which gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.safestring import SafeString

from review.acceptance.pair_actions import Pick
from review.overview.note_page import NotePage
from review.overview.note_pairs import PairRow, Since, read_since
from review.vocabulary import Staleness
from review.web.pages.pair_actions import write_pick
from review.web.render.diff import render_diff
from review.web.render.links import diff_page

# Characters of written changes on one page, which has the note itself to show, too.
_ROOM = 120_000


@dataclass(frozen=True)
class ChangedGate:
    """A gate with the partitions in which it is stale; `url` is the page of the first one's change."""

    gate_id: str
    rows: tuple[PairRow, ...]
    url: str

    @property
    def is_trivial(self) -> bool:
        return all(row.change is not None and row.change.trivial for row in self.rows)


@dataclass(frozen=True)
class ShownSince:
    """An accepted text that is not today's.

    :param html: the change, "" where there is no room for it.
    :param picks: the pairs that an ack of this change makes fresh.
    """

    since: Since
    gates: tuple[ChangedGate, ...]
    html: SafeString
    picks: tuple[str, ...]


@dataclass(frozen=True)
class Changed:
    """What makes pairs of a note stale.

    :param reasons: how many accepted pairs are stale for each reason, the first that holds.
    :param accepted: pairs that have an accepted text to compare with.
    """

    texts: tuple[ShownSince, ...]
    gates: tuple[ChangedGate, ...]
    reasons: Mapping[str, int]
    stale: int
    accepted: int


def read_changed(shown: NotePage) -> Changed:
    """What changed since each accepted text of the note, and the gates that changed themselves."""
    rows = [row for row in shown.pairs if not row.is_gone]
    left = _ROOM
    texts: list[ShownSince] = []
    for since in read_since(rows, shown.now.text):
        html = render_diff(since.diff) if since.diff else SafeString("")
        left -= len(html)
        texts.append(_shown(shown, since, html if left >= 0 else SafeString("")))
    changed = [row for row in rows if Staleness.GATE_CHANGED in row.reasons]
    reasons = Counter(row.state for row in rows if row.reasons and row.accepted_at)
    return Changed(
        texts=tuple(texts),
        gates=_gates(shown, changed),
        reasons=reasons,
        stale=reasons.total(),
        accepted=sum(row.accepted_at is not None for row in rows),
    )


def _shown(shown: NotePage, since: Since, html: SafeString) -> ShownSince:
    return ShownSince(
        since=since,
        gates=_gates(shown, since.rows),
        html=html,
        picks=tuple(write_pick(pick_of(shown, row)) for row in since.rows if _is_acked(shown, row)),
    )


def _is_acked(shown: NotePage, row: PairRow) -> bool:
    """Whether an ack of the note's change alone makes the pair fresh."""
    only_the_note = row.reasons == [Staleness.NOTE_CHANGED]
    return only_the_note and row.review_pair_id is not None and can_pick(shown, row)


def _gates(shown: NotePage, rows: Sequence[PairRow]) -> tuple[ChangedGate, ...]:
    return tuple(
        ChangedGate(
            gate_id,
            some,
            diff_page(shown.now.path, gate_id=gate_id, model_partition=some[0].model_partition),
        )
        for gate_id, found in groupby(rows, key=lambda row: row.gate_id)
        if (some := tuple(found))
    )


def can_pick(shown: NotePage, row: PairRow) -> bool:
    return shown.now.facts is not None and not row.is_gone


def pick_of(shown: NotePage, row: PairRow) -> Pick:
    facts = shown.now.facts
    return Pick(
        note_path=shown.now.path,
        gate_id=row.gate_id,
        model_partition=row.model_partition,
        note_sha256=facts.sha256 if facts else None,
        gate_sha256=row.gate_sha256,
        review_pair_id=row.review_pair_id,
    )
