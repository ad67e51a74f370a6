"""Act on pairs that a person picked on a page: ack what was shown, or request reviews."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import msgspec

from review.acceptance.ack_selection import ack_selection, read_ack_targets
from review.acceptance.documents import AcksJson
from review.domain.paths import gate_path_of
from review.errors import UsageRefused
from review.jobs.create import CreateRequest, create_jobs
from review.jobs.job_documents import CreatedJson
from review.jobs.selection_input import read_selection
from review.knowledge_base import Corpus
from review.selection.documents import SELECTION_SCHEMA
from review.settings.config import Config
from review.vocabulary import REQUESTED, Grouping, Staleness

_SOURCE = "what was picked"


class NothingPicked(UsageRefused):
    """The form was sent without a pair."""


@dataclass(frozen=True)
class Pick:
    """A pair as the page showed it.

    :param note_sha256: digest of the note's text that was shown; None where none was.
    :param review_pair_id: the review that the change was measured against.
    """

    note_path: str
    gate_id: str
    model_partition: str
    note_sha256: str | None = None
    gate_sha256: str | None = None
    review_pair_id: int | None = None


def ack_picks(
    picks: Sequence[Pick], *, actor: str, reason: str, corpus: Corpus, config: Config, now: datetime
) -> list[AcksJson]:
    """Ack exactly the texts that were shown; one answer per model partition.

    A pair whose note or gate is another text by now is refused and holds no other up.

    :raises NothingPicked: there is no pair.
    :raises BadTargets, PartitionNotConcrete: a pair is none; nothing was written for its partition.
    """
    return [
        ack_selection(
            *read_ack_targets(selection, source=_SOURCE, config=config),
            actor=actor,
            reason=reason,
            corpus=corpus,
            now=now,
        )
        for selection in _selections(picks, Staleness.NOTE_CHANGED.value, config)
    ]


def request_reviews(
    picks: Sequence[Pick], *, grouping: Grouping, actor: str, config: Config, now: datetime
) -> list[CreatedJson]:
    """Queue jobs for the pairs, fresh or not; one answer per model partition.

    :raises NothingPicked: there is no pair.
    :raises BadTargets, PartitionNotConcrete: a pair is none; no job was made for its partition.
    """
    catalog, answers = Corpus(config).gates, []
    for selection in _selections(picks, REQUESTED, config):
        found = read_selection(selection, source=_SOURCE, config=config, catalog=catalog)
        request = CreateRequest(model_partition=found[0], grouping=grouping, actor=actor)
        answers.append(create_jobs(found[1], request, config=config, now=now))
    return answers


def _selections(picks: Iterable[Pick], reason: str, config: Config) -> list[bytes]:
    """Return the picks as the selector would give them, one selection a model partition."""
    targets: dict[str, list[dict[str, Any]]] = {}
    for pick in picks:
        target = {
            **asdict(pick),
            "gate_path": gate_path_of(pick.gate_id, gates_folder=config.gates_folder),
            "reason": reason,
            "accepted_review_pair_id": pick.review_pair_id,
        }
        targets.setdefault(pick.model_partition, []).append(target)
    if not targets:
        raise NothingPicked("no pair was picked", hint="tick at least one")
    return [
        msgspec.json.encode(
            {"schema": SELECTION_SCHEMA, "model_partition": partition, "targets": of_partition}
        )
        for partition, of_partition in sorted(targets.items())
    ]
