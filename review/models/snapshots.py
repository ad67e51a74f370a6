"""Immutable copies of reviewed text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import ClassVar, TypeAlias

from django.db import models
from django.db.models import Q
from django.db.models.functions import Length
from django.db.models.lookups import Exact

from review.models.expressions import batched, check, unique
from review.models.paths import KbPath

# By path and SHA-256: a file's bytes as UTF-8, byte-exact: BOM, CRLF and a missing last newline stay.
Texts: TypeAlias = Mapping[tuple[str, str], str]


class SnapshotQuerySet(models.QuerySet["FileSnapshot"]):
    def take(self, texts: Texts, *, now: datetime) -> dict[tuple[str, str], FileSnapshot]:
        """Keep every text that is not kept yet; return the rows, without their texts."""
        paths = KbPath.objects.intern(path for path, _sha256 in texts)
        known = self._known(paths, texts)
        new = [
            FileSnapshot(
                path_id=paths[path],
                content_sha256=sha256,
                byte_size=len(text.encode()),
                captured_at=now,
                text=text,
            )
            for (path, sha256), text in texts.items()
            if (path, sha256) not in known
        ]
        if new:
            self.bulk_create(new, ignore_conflicts=True, batch_size=100)
            known = self._known(paths, texts)
        return known

    def _known(
        self, paths: dict[str, int], wanted: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], FileSnapshot]:
        rows = self.select_related("path").defer("text")
        found: dict[tuple[str, str], FileSnapshot] = {}
        for chunk in batched(wanted, 200):
            names, digests = zip(*chunk, strict=True)
            some = rows.filter(
                path_id__in={paths[name] for name in names}, content_sha256__in=set(digests)
            )
            found.update({(row.path.path, row.content_sha256): row for row in some})
        return found


class FileSnapshot(models.Model):
    """The exact text of a note or gate at one moment; never updated, never deleted while used."""

    path = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    content_sha256 = models.CharField(max_length=64)
    byte_size = models.BigIntegerField()
    captured_at = models.DateTimeField()
    text = models.TextField()

    objects: ClassVar[SnapshotQuerySet] = SnapshotQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_file_snapshots"
        constraints = [
            unique("review_snapshot_once_per_text", "path content_sha256"),
            check("review_snapshot_sha256_is_64_long", Exact(Length("content_sha256"), 64)),
            check("review_snapshot_size_not_negative", Q(byte_size__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.path_id}@{self.content_sha256[:12]}"
