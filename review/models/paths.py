"""Interned words: the paths of notes and gates, model partitions, and the store's own identity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from review.models.expressions import batched, check


class InternedQuerySet(models.QuerySet["KbPath"]):
    def intern(self, paths: Iterable[str]) -> dict[str, int]:
        """Path to its key, made where it is new; safe against a second process doing the same."""
        wanted = sorted(set(paths))
        known = self.ids(wanted)
        new = [KbPath(path=path) for path in wanted if path not in known]
        if new:
            self.bulk_create(new, ignore_conflicts=True, batch_size=500)
            known |= self.ids([row.path for row in new])
        return known

    def ids(self, paths: Iterable[str]) -> dict[str, int]:
        """Path to its key, for those that are known."""
        found: dict[str, int] = {}
        for some in batched(paths, 500):
            found.update(self.filter(path__in=some).values_list("path", "id"))
        return found


class KbPath(models.Model):
    """A root-relative, NFC-normalised POSIX path of a note or a gate; events keep its key."""

    path = models.TextField(unique=True)

    objects: ClassVar[InternedQuerySet] = InternedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_paths"
        constraints = [check("review_path_not_empty", ~Q(path=""))]

    def __str__(self) -> str:
        return self.path


class ModelPartition(models.Model):
    """Models judged equivalent for freshness; part of an acceptance's key."""

    name = models.CharField(max_length=200, unique=True)

    class Meta:
        db_table = "review_model_partitions"
        constraints = [check("review_partition_not_empty", ~Q(name=""))]

    def __str__(self) -> str:
        return self.name


class ReviewStoreQuerySet(models.QuerySet["ReviewStore"]):
    """The store's identity, and its counters, which each writer locks until its commit."""

    def identity(self) -> str:
        """The store's own id, which its copies keep."""
        return self.values_list("store_id", flat=True).get(pk=1)

    def allocate_job_ids(self, count: int) -> int:
        """Return the first of `count` new job ids; call it inside a transaction."""
        self.filter(pk=1).update(next_job_id=F("next_job_id") + count)
        return self.values_list("next_job_id", flat=True).get(pk=1) - count

    def take_turn(self) -> None:
        """Take the write lock for the rest of this transaction, by an update that changes nothing.

        Rows that are only added then get their keys in the order of the commits, so that a reader
        who knows the last key knows what it has not seen.
        """
        self.filter(pk=1).update(store_id=F("store_id"))

    def move_acceptances(self) -> None:
        """Take the lock for moving current acceptances; a second writer waits for the commit."""
        self.filter(pk=1).update(acceptance_revision=F("acceptance_revision") + 1)


class ReviewStore(models.Model):
    """The one row that identifies this store.

    `acceptance_revision` grows with every transaction that moves an acceptance, so a page can
    check whether a cached freshness answer is still valid.
    """

    store_id = models.CharField(max_length=32)
    created_at = models.DateTimeField()
    next_job_id = models.BigIntegerField(default=1)
    acceptance_revision = models.BigIntegerField(default=0)

    objects: ClassVar[ReviewStoreQuerySet] = ReviewStoreQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_store"
        constraints = [check("review_store_is_one_row", Q(pk=1))]
