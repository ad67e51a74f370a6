"""Keep the queue's projection equal to the acceptances, findings and dispositions it derives from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import F, OuterRef, Subquery

from review.domain.disposition import Decided, finding_state, review_fingerprint
from review.domain.finding_identity import KnownFinding, own_fingerprints
from review.models import CurrentAcceptance, FindingState, JoinedKeys, batched
from review.vocabulary import (
    QUEUED_DECISIONS,
    AcceptanceKind,
    DispositionState,
    Seen,
    Severity,
)

# Gives the rows of a model by its name: today's, or those of a migration.
Tables = Callable[[str], Any]

_RANKS = {severity.value: rank for rank, severity in enumerate(Severity)}
_AT_ONCE = 500
# Columns of a row that only serve to make others.
_HELPERS = ("partition", "read_note_id", "read_gate_id", "text", "quote", "first_id")


def _today(name: str) -> Any:
    return apps.get_model("review", name).objects


def refresh_finding_states(
    notes: Collection[int], gates: Collection[int] | None = None, *, tables: Tables = _today
) -> None:
    """Recompute the rows of these notes; call it where acceptances moved, in the transaction.

    :param gates: only the rows of these gates.
    """
    keys: dict[str, Collection[int]] = {"note_id__in": notes}
    if gates is not None:
        keys["gate_id__in"] = gates
    states = tables("FindingState")
    states.filter(**keys).delete()
    states.bulk_create(
        [states.model(**row) for row in finding_states(keys, tables=tables)], batch_size=_AT_ONCE
    )


def rebuild_finding_states(*, tables: Tables = _today) -> None:
    """Recompute every row."""
    tables("FindingState").all().delete()
    current = tables("CurrentAcceptance").filter(decision__in=QUEUED_DECISIONS)
    notes = current.order_by("note_id").values_list("note_id", flat=True).distinct()
    for chunk in batched(list(notes), _AT_ONCE):
        refresh_finding_states(chunk, tables=tables)


def notes_off_the_queue() -> Iterator[list[int]]:
    """Yield notes whose rows differ from what they derive from, in chunks."""
    queued = CurrentAcceptance.objects.queued().values_list("note_id", flat=True)
    notes = set(queued) | set(FindingState.objects.values_list("note_id", flat=True))
    for chunk in batched(sorted(notes), _AT_ONCE):
        if differing := _differing(chunk):
            # Others may have written between the two readings: look again, in one snapshot.
            with transaction.atomic(), connection.cursor() as cursor:
                if connection.vendor == "postgresql" and len(connection.atomic_blocks) == 1:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                differing = _differing(differing)
        yield differing


def _differing(notes: Collection[int]) -> list[int]:
    """Return which of these notes have rows that differ from what they derive from."""
    fields = [field.attname for field in FindingState._meta.concrete_fields if field.name != "id"]
    stored = Counter(FindingState.objects.filter(note_id__in=notes).values_list(*fields))
    rows = finding_states({"note_id__in": notes})
    derived = Counter(tuple(row[field] for field in fields) for row in rows)
    at = fields.index("note_id")
    return sorted({row[at] for row in (stored - derived) + (derived - stored)})


def recompute_states(fingerprints: Iterable[str]) -> None:
    """Recompute the state of findings; call it where dispositions were added, in the transaction."""
    for chunk in batched(sorted(set(fingerprints)), _AT_ONCE):
        columns = ("pk", "fingerprint", "text_read_at", "seen_before")
        rows = list(FindingState.objects.filter(fingerprint__in=chunk).values(*columns))
        alike: dict[tuple[str, ...], list[int]] = {}
        for row, found in zip(rows, _states(rows, _today), strict=True):
            alike.setdefault(tuple(found.values()), []).append(row["pk"])
        for (state, seen, decided_sha256), keys in alike.items():
            FindingState.objects.filter(pk__in=keys).update(
                state=state, seen=seen, decided_sha256=decided_sha256
            )


def finding_states(
    keys: Mapping[str, Collection[int]], *, tables: Tables = _today
) -> list[dict[str, Any]]:
    """Return the rows as they should be, field by field.

    :param keys: conditions on `note_id` and `gate_id`.
    """
    found = [row for review in _reviews(keys, tables) for row in _rows_of(review)]
    events: dict[tuple[int, int, int], set[int]] = {}
    for row in found:
        events.setdefault(_judged(row), set()).add(row["event_id"])
    for row in found:
        later = [event_id for event_id in events[_judged(row)] if event_id > row["event_id"]]
        row["later_objections"] = len(later)
    return [row | state for row, state in zip(found, _states(found, tables), strict=True)]


def _judged(row: Mapping[str, Any]) -> tuple[int, int, int]:
    return (row["note_id"], row["gate_id"], row["gate_snapshot_id"])


def _reviews(keys: Mapping[str, Collection[int]], tables: Tables) -> Iterator[list[dict[str, Any]]]:
    """Yield the findings of each current acceptance; one row without a finding if there is none."""
    # The unique index starts with the partition: without it no index would be used.
    partitions = list(tables("ModelPartition").values_list("pk", flat=True))
    current = tables("CurrentAcceptance").filter(model_partition_id__in=partitions)
    passed = (
        current.filter(
            note_id=OuterRef("note_id"),
            gate_id=OuterRef("gate_id"),
            event_id__gt=OuterRef("event_id"),
        )
        .exclude(decision__in=QUEUED_DECISIONS)
        .order_by()
        .values("note_id")
        .annotate(keys=JoinedKeys("model_partition_id"))
    )
    finding = "event__review_pair__findings"
    first = tables("Finding").filter(fingerprint=OuterRef(f"{finding}__fingerprint")).order_by("pk")
    rows = (
        current.filter(decision__in=QUEUED_DECISIONS, **keys)
        .exclude(event__kind=AcceptanceKind.OVERRIDE)
        .order_by("note_id", "gate_id", "event_id", f"{finding}__ordinal")
        .values(
            "event_id", "note_id", "gate_id", "model_partition_id", "gate_snapshot_id", "decision"
        )
        .annotate(
            pair_id=F("event__review_pair_id"),
            # Of the text the reviewer read: an ack since then moved neither lines nor findings.
            read_snapshot_id=F("event__review_pair__note_snapshot_id"),
            read_note_id=F("event__review_pair__note_id"),
            read_gate_id=F("event__review_pair__gate_id"),
            text_read_at=F("event__review_pair__job__created_at"),
            note_path=F("note__path"),
            gate_path=F("gate__path"),
            partition=F("model_partition__name"),
            finding_id=F(f"{finding}__id"),
            ordinal=F(f"{finding}__ordinal"),
            severity=F(f"{finding}__severity"),
            fingerprint=F(f"{finding}__fingerprint"),
            text=F(f"{finding}__text"),
            quote=F(f"{finding}__quote"),
            passed_in=Subquery(passed.values("keys")),
            first_id=Subquery(first.values("pk")[:1]),
            first_at=Subquery(first.values("pair__job__created_at")[:1]),
        )
    )
    found = groupby(rows.iterator(chunk_size=2000), key=lambda row: row["event_id"])
    return (list(review) for _event_id, review in found)


def _rows_of(review: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the findings of a review, and the review itself if none is as severe as its decision."""
    reported = [row for row in review if row["finding_id"] is not None]
    most_severe = max((_RANKS[row["severity"]] for row in reported), default=-1)
    if most_severe < _RANKS[review[0]["decision"]]:
        yield _row(review[0], **_own_finding(review[0]))
    fingerprints = [row["fingerprint"] for row in reported]
    if reported and _is_moved(review[0]):
        paths = {"note_path": review[0]["note_path"], "gate_path": review[0]["gate_path"]}
        known = [KnownFinding("", row["quote"], row["text"]) for row in reported]
        fingerprints = own_fingerprints(known, **paths)
    for row, fingerprint in zip(reported, fingerprints, strict=True):
        yield _row(row, fingerprint=fingerprint)


def _own_finding(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "finding_id": None,
        "ordinal": 0,
        "severity": row["decision"],
        "fingerprint": review_fingerprint(
            note_path=row["note_path"], gate_path=row["gate_path"], partition=row["partition"]
        ),
    }


def _is_moved(row: Mapping[str, Any]) -> bool:
    return bool((row["read_note_id"], row["read_gate_id"]) != (row["note_id"], row["gate_id"]))


def _row(row: Mapping[str, Any], **own: Any) -> dict[str, Any]:
    is_own = "severity" in own  # the row of the review itself
    is_repeated = _is_moved(row) or (not is_own and row["first_id"] != row["finding_id"])
    found = {
        **row,
        **own,
        "folder": row["note_path"].rpartition("/")[0],
        "passed_in": row["passed_in"] or "",
        "first_at": row["text_read_at"] if is_own else row["first_at"],
        "seen_before": (Seen.PERSISTING if is_repeated else Seen.NEW).value,
    }
    return {name: value for name, value in found.items() if name not in _HELPERS}


def _states(rows: Sequence[Mapping[str, Any]], tables: Tables) -> Iterator[dict[str, str]]:
    """Yield `state`, `seen` and `decided_sha256` of each row, from its finding's last disposition."""
    decided: dict[str, Decided] = {}
    for chunk in batched(sorted({row["fingerprint"] for row in rows}), _AT_ONCE):
        rows_of = tables("Disposition").filter(fingerprint__in=chunk).order_by("pk")
        columns = ("fingerprint", "state", "note_sha256", "at")
        for fingerprint, state, *when in rows_of.values_list(*columns):
            decided[fingerprint] = Decided(DispositionState(state), *when)
    for row in rows:
        last = decided.get(row["fingerprint"])
        sha256 = last.note_sha256 if last else ""
        # Whether a deferred finding is open again is for the files to say, when they are looked at.
        now = finding_state(last, text_read_at=row["text_read_at"], note_sha256=sha256)
        yield {
            "state": now.state.value,
            "seen": Seen.REGRESSED.value if now.regressed else row["seen_before"],
            "decided_sha256": sha256 if now.state is DispositionState.DEFERRED else "",
        }
