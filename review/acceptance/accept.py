"""Move acceptances: one event, one current row, and the one rule that can refuse it.

The queue's projection is kept equal to the acceptances, findings and dispositions it derives from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import F, OuterRef, Subquery, TextField, Value
from django.db.models.functions import Coalesce

from review import models
from review.documents.base import grouped
from review.domain.finding_identity import finding_state, own_fingerprints, review_fingerprint
from review.vocabulary import GRAVITY, QUEUED_DECISIONS, AcceptanceKind, DispositionState, Seen

# Gives the rows of a model by its name: today's, or those of a migration.
Tables = Callable[[str], Any]

_AT_ONCE = 500
# What only serves to make columns of a row.
_HELPERS = {"partition", "read_note_id", "read_gate_id"}


def of_review(job: models.ReviewJob, pair: models.ReviewPair, actor: str) -> models.Acceptance:
    return models.Acceptance(
        note_id=pair.note_id,
        gate_id=pair.gate_id,
        model_partition_id=job.model_partition_id,
        note_snapshot_id=pair.note_snapshot_id,
        gate_snapshot_id=pair.gate_snapshot_id,
        kind=AcceptanceKind.FULL_REVIEW,
        decision=pair.decision,
        actor=actor,
        review_pair=pair,
        text_read_at=job.created_at,
    )


def of_texts(
    note: models.FileSnapshot, gate: models.FileSnapshot, **said: Any
) -> models.Acceptance:
    """Make the acceptance of two texts, with what else its columns say."""
    said |= {"note_snapshot_id": note.pk, "gate_snapshot_id": gate.pk}
    return models.Acceptance(note_id=note.path_id, gate_id=gate.path_id, **said)


def accept(acceptances: Sequence[models.Acceptance], *, now: datetime) -> list[models.Acceptance]:
    """Store the acceptances, in a transaction, and return those that are superseded.

    One is superseded if the key's current acceptance pins another text that was read later.
    """
    if not acceptances:
        return []
    # First, so that two transactions move acceptances one after the other on every database.
    models.ReviewStore.objects.move_acceptances()
    rows = models.CurrentAcceptance.objects.filter(
        model_partition_id__in={item.model_partition_id for item in acceptances},
        note_id__in={item.note_id for item in acceptances},
        gate_id__in={item.gate_id for item in acceptances},
    )
    columns = ("model_partition_id", "note_id", "gate_id", "note_snapshot_id", "gate_snapshot_id")
    read = rows.values_list(*columns, "event__text_read_at")
    # By key: the texts of the current acceptance, and when they were read.
    current = {row[:3]: (row[3:5], row[5]) for row in read}
    accepted: list[models.Acceptance] = []
    superseded: list[models.Acceptance] = []
    for item in acceptances:
        pinned = (item.note_snapshot_id, item.gate_snapshot_id)
        texts, text_read_at = current.get(key_of(item), (pinned, item.text_read_at))
        if text_read_at > item.text_read_at and texts != pinned:
            superseded.append(item)
        else:
            item.accepted_at = now
            accepted.append(item)
            current[key_of(item)] = (pinned, item.text_read_at)
    events = models.Acceptance.objects.bulk_create(accepted)
    models.CurrentAcceptance.objects.point_at(
        list({key_of(event): event for event in events}.values())
    )
    refresh_finding_states({item.note_id for item in accepted}, {item.gate_id for item in accepted})
    return superseded


def key_of(acceptance: models.Acceptance) -> tuple[int, int, int]:
    """Return the key that has one current acceptance."""
    return (acceptance.model_partition_id, acceptance.note_id, acceptance.gate_id)


def _today(name: str) -> Any:
    return apps.get_model("review", name).objects


def refresh_finding_states(
    notes: Collection[int], gates: Collection[int] | None = None, *, tables: Tables = _today
) -> None:
    """Recompute the rows of these notes, or of these gates of them, where acceptances moved."""
    keys: dict[str, Collection[int]] = {"note_id__in": notes}
    if gates is not None:
        keys["gate_id__in"] = gates
    states = tables("FindingState")
    states.filter(**keys).delete()
    states.bulk_create(finding_states(keys, tables=tables), batch_size=_AT_ONCE)


def rebuild_finding_states(*, tables: Tables = _today) -> None:
    tables("FindingState").all().delete()
    current = tables("CurrentAcceptance").filter(decision__in=QUEUED_DECISIONS)
    notes = current.order_by("note_id").values_list("note_id", flat=True).distinct()
    for chunk in models.batched(list(notes), _AT_ONCE):
        refresh_finding_states(chunk, tables=tables)


def notes_off_the_queue() -> Iterator[list[int]]:
    """Yield notes whose rows differ from what they derive from, in chunks."""
    queued = models.CurrentAcceptance.objects.queued().values_list("note_id", flat=True)
    notes = set(queued) | set(models.FindingState.objects.values_list("note_id", flat=True))
    for chunk in models.batched(sorted(notes), _AT_ONCE):
        if differing := _differing(chunk):
            # Others may have written between the two readings: look again, in one snapshot.
            with transaction.atomic(), connection.cursor() as cursor:
                if connection.vendor == "postgresql" and len(connection.atomic_blocks) == 1:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                differing = _differing(differing)
        yield differing


def _differing(notes: Collection[int]) -> list[int]:
    fields = [
        field.attname for field in models.FindingState._meta.concrete_fields if field.name != "id"
    ]
    values = attrgetter(*fields)
    stored = Counter(map(values, models.FindingState.objects.filter(note_id__in=notes)))
    derived = Counter(map(values, finding_states({"note_id__in": notes})))
    at = fields.index("note_id")
    return sorted({row[at] for row in (stored - derived) + (derived - stored)})


def recompute_states(fingerprints: Iterable[str]) -> None:
    """Recompute the state of findings; call it where dispositions were added, in the transaction."""
    for chunk in models.batched(sorted(set(fingerprints)), _AT_ONCE):
        rows = list(models.FindingState.objects.filter(fingerprint__in=chunk))
        _settle(rows, _today)
        alike = grouped(((row.state, row.seen, row.decided_sha256), row.pk) for row in rows)
        for (state, seen, decided_sha256), keys in alike.items():
            found = models.FindingState.objects.filter(pk__in=keys)
            found.update(state=state, seen=seen, decided_sha256=decided_sha256)


def finding_states(keys: Mapping[str, Collection[Any]], *, tables: Tables = _today) -> list[Any]:
    """Return the rows as they should be, not saved; `keys` are conditions on current acceptances."""
    reviews = [
        row | {"folder": row["note_path"].rpartition("/")[0]} for row in _reviews(keys, tables)
    ]
    events = grouped((_judged(review), review["event_id"]) for review in reviews)
    found = _findings({review["pair_id"] for review in reviews}, tables)
    findings = grouped((finding.pair_id, finding) for finding in found)
    rows = []
    for review in reviews:
        later = sum(event_id > review["event_id"] for event_id in events[_judged(review)])
        for own in _rows_of(review, findings.get(review["pair_id"], ())):
            shared = {name: review[name] for name in review.keys() - _HELPERS}
            rows.append(tables("FindingState").model(**shared, **own, later_objections=later))
    _settle(rows, tables)
    return rows


def _judged(review: Mapping[str, Any]) -> tuple[int, ...]:
    return (review["note_id"], review["gate_id"], review["gate_snapshot_id"])


def _reviews(keys: Mapping[str, Collection[Any]], tables: Tables) -> Any:
    """Return what the rows of each current acceptance share; unless `keys` say, of a queued one."""
    # The unique index starts with the partition: without it no index would be used.
    partitions = list(tables("ModelPartition").values_list("pk", flat=True))
    current = tables("CurrentAcceptance").filter(model_partition_id__in=partitions)
    later = current.filter(event_id__gt=OuterRef("event_id"))
    passed = (
        later.filter(note_id=OuterRef("note_id"), gate_id=OuterRef("gate_id"))
        .exclude(decision__in=QUEUED_DECISIONS)
        .order_by()
        .values("note_id")
        .annotate(keys=models.JoinedKeys("model_partition_id"))
    )
    return (
        current.filter(**{"decision__in": QUEUED_DECISIONS, **keys})
        .exclude(event__kind=AcceptanceKind.OVERRIDE)
        .order_by("note_id", "gate_id", "event_id")
        .values(
            "event_id",
            "note_id",
            "gate_id",
            "model_partition_id",
            "gate_snapshot_id",
            "decision",
            pair_id=F("event__review_pair_id"),
            # Of the text the reviewer read: an ack since then moved neither lines nor findings.
            read_snapshot_id=F("event__review_pair__note_snapshot_id"),
            read_note_id=F("event__review_pair__note_id"),
            read_gate_id=F("event__review_pair__gate_id"),
            text_read_at=F("event__review_pair__job__created_at"),
            note_path=F("note__path"),
            gate_path=F("gate__path"),
            partition=F("model_partition__name"),
            passed_in=Coalesce(Subquery(passed.values("keys")), Value("", TextField())),
        )
    )


def _findings(pair_ids: Collection[int], tables: Tables) -> Any:
    """Return the findings of the pairs, each with the first report of its fingerprint."""
    findings = tables("Finding")
    first = findings.filter(fingerprint=OuterRef("fingerprint")).order_by("pk")
    first_at = Subquery(first.values("pair__job__created_at")[:1])
    rows = findings.filter(pair_id__in=models.NamedKeys(pair_ids)).order_by("pair_id", "ordinal")
    return rows.annotate(first_id=Subquery(first.values("pk")[:1]), first_at=first_at)


def _rows_of(review: Mapping[str, Any], findings: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the findings of a review, and the review itself if none is as severe as its decision."""
    read_of = (review["read_note_id"], review["read_gate_id"])
    is_moved = read_of != (review["note_id"], review["gate_id"])
    paths = {name: review[name] for name in ("note_path", "gate_path")}
    most_severe = max((GRAVITY[finding.severity] for finding in findings), default=0)
    if most_severe < GRAVITY.get(review["decision"], 0):
        yield {
            "ordinal": 0,
            "severity": review["decision"],
            "fingerprint": review_fingerprint(**paths, partition=review["partition"]),
            "first_at": review["text_read_at"],
            "seen_before": (Seen.PERSISTING if is_moved else Seen.NEW).value,
        }
    fingerprints = [finding.fingerprint for finding in findings]
    if is_moved:
        fingerprints = own_fingerprints(findings, **paths)
    for finding, fingerprint in zip(findings, fingerprints, strict=True):
        is_repeated = is_moved or finding.first_id != finding.pk
        yield {
            "finding_id": finding.pk,
            "ordinal": finding.ordinal,
            "severity": finding.severity,
            "fingerprint": fingerprint,
            "first_at": finding.first_at,
            "seen_before": (Seen.PERSISTING if is_repeated else Seen.NEW).value,
        }


def _settle(rows: Sequence[Any], tables: Tables) -> None:
    """Set what the last disposition of each row's finding makes of it."""
    decided = models.latest_of((row.fingerprint for row in rows), tables("Disposition"))
    for row in rows:
        last = decided.get(row.fingerprint)
        sha256 = last.note_sha256 if last else ""
        # Whether a deferred finding is open again is for the files to say, when they are looked at.
        now = finding_state(last, text_read_at=row.text_read_at, note_sha256=sha256)
        row.state = now.state.value
        row.seen = Seen.REGRESSED.value if now.regressed else row.seen_before
        row.decided_sha256 = sha256 if now.state is DispositionState.DEFERRED else ""
