"""Lays a base for a crash: what a worker would write, and damage; called in a process of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.db import connection

from review import settings
from review.models import CurrentAcceptance, ReviewJob, ReviewPair
from tests.builders import make_output


def write_output(
    *, job_id: int, reviews: list[str], only: list[int] | None = None, to: str = ""
) -> None:
    """Write a worker's output for a job where its row says, or to the file `to`."""
    path = settings.current().root / (to or ReviewJob.objects.get(pk=job_id).bundle_output_path)
    path.write_bytes(make_output(job_id, *reviews, only=tuple(only or ())))
    connection.close()


def garble_output(*, job_id: int) -> None:
    """Write an output that holds no review, where a worker would write it."""
    path = settings.current().root / ReviewJob.objects.get(pk=job_id).bundle_output_path
    path.write_text("I could not read the prompt.\n")
    connection.close()


def forget_store() -> None:
    """Leave the database of a server as it is before there is a store."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute("CREATE SCHEMA public")
    connection.close()


def damage() -> None:
    """Take away and garble files that mirror rows, and lose a current acceptance."""
    root = settings.current().root
    paths = ReviewPair.objects.completed().order_by("pk").values_list("result_path", flat=True)
    first, second, *_ = [root / path for path in paths]
    first.write_bytes(first.read_bytes()[:20])
    second.unlink()
    manifest = first.parent / "MANIFEST.json"
    manifest.write_bytes(b"{ torn")
    CurrentAcceptance.objects.order_by("pk")[:1].get().delete()
    connection.close()


def remove_folder(*, job_id: int) -> None:
    """Remove a job's whole folder."""
    shutil.rmtree(
        Path(settings.current().root / ReviewJob.objects.get(pk=job_id).prompt_path).parent
    )
    connection.close()
