"""Export current acceptances: each as a Markdown file of its own, or all in a CSV index."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db.models import F, Value

from review.documents.base import Document, timestamp
from review.domain.paths import sha256_hex
from review.domain.printing import safe_cell
from review.job_files import write_whole
from review.models import CurrentAcceptance, KbPath, ModelPartition, batched

_MAX_NAME_BYTES = 200
_HASH_LENGTH = 8


class ExportedJson(Document, kw_only=True, tag_field="schema", tag="export-reviews/1"):
    """The answer of `export_reviews`; `left` are files of an earlier export, of no acceptance now."""

    format: str
    output: str
    reviews: int = 0
    written: int = 0
    unchanged: int = 0
    left: list[str] = []


@dataclass(frozen=True, slots=True)
class ExportedReview:
    """A current acceptance; `text` is its review's, or who overrode it and why."""

    note_path: str
    gate_id: str
    gate_path: str
    gate_hash: str
    note_hash: str
    model_partition: str
    decision: str
    kind: str
    recorded_at: str
    review_pair_id: int | None
    text: str


COLUMNS = tuple(field.name for field in fields(ExportedReview) if field.name != "text")
_ROW = {
    "note_path": "note__path",
    "gate_path": "gate__path",
    "model_partition": "model_partition__name",
    "review_pair_id": "event__review_pair_id",
    "gate_hash": "gate_snapshot__content_sha256",
    "note_hash": "note_snapshot__content_sha256",
    "decision": "decision",
    "kind": "event__kind",
    "recorded_at": "event__accepted_at",
    "actor": "event__actor",
    "reason": "event__reason",
}


def exported_reviews(
    *, gate_label: Callable[[str], str], with_text: bool
) -> Iterator[ExportedReview]:
    """Return all current acceptances, sorted by note path, gate path and partition."""
    text = F("event__review_pair__review_text__text") if with_text else Value("")
    # Sorted here: databases sort text in different ways. The partitions are named for the index.
    partitions = list(ModelPartition.objects.values_list("pk", flat=True))
    accepted = CurrentAcceptance.objects.values("note_id")
    notes = sorted(KbPath.objects.filter(pk__in=accepted).values_list("path", "pk"))
    for chunk in batched(notes, 20):
        rows: Any = CurrentAcceptance.objects.filter(
            model_partition__in=partitions, note__in=[key for _path, key in chunk]
        ).values_list(*_ROW.values(), text)
        for values in sorted(rows, key=itemgetter(0, 1, 2)):
            row = dict(zip((*_ROW, "text"), values, strict=True))
            by = f"Accepted by {row.pop('actor')} without a review: {row.pop('reason')}\n"
            said = (row.pop("text") or "") if row["review_pair_id"] else by
            row |= {"recorded_at": timestamp(row["recorded_at"]) or "", "text": said}
            yield ExportedReview(gate_id=gate_label(row["gate_path"]), **row)


def gate_csv(reviews: Iterable[ExportedReview]) -> Iterator[str]:
    """A header and a row for each review, one line at a time, safe to open in a spreadsheet."""
    rows = ([safe_cell(getattr(review, name)) for name in COLUMNS] for review in reviews)
    for cells in chain([COLUMNS], rows):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow(cells)
        yield out.getvalue()


def export_markdown(reviews: Iterable[ExportedReview], folder: Path) -> ExportedJson:
    """Write the reviews, sorted by note, below `folder`; delete nothing."""
    done = ExportedJson(format="markdown", output=str(folder))
    expected: set[str] = set()
    for review in reviews:
        name = review_file(review.gate_id, review.model_partition)
        file = f"{note_folder(review.note_path)}/{name}"
        expected.add(file)
        done.reviews += 1
        data = render_export(review).encode("utf-8", "replace")
        path = folder / file
        if path.is_file() and path.read_bytes() == data:
            done.unchanged += 1
        else:
            write_whole(path, data)
            done.written += 1
    found = (file.relative_to(folder).as_posix() for file in folder.rglob("*.md") if file.is_file())
    done.left = sorted(file for file in found if file not in expected)
    return done


def render_export(review: ExportedReview) -> str:
    """A comment with the metadata, an empty line, and the review's text as it is."""
    lines = [f"{name.replace('_', '-')}: {_value(getattr(review, name))}" for name in COLUMNS]
    head = "\n".join(("<!-- GATE-REVIEW", *lines, "-->", "", ""))
    return head + review.text.removesuffix("\n") + "\n"


def note_folder(note_path: str) -> str:
    """The note's path with `__` for `/`: one folder name, bounded, another for every note."""
    name = note_path.replace("/", "__")
    return _bounded(name, whole=note_path, doubtful="__" in note_path or name.startswith("."))


def review_file(gate_id: str, model_partition: str) -> str:
    """`<gate_id>.<partition>.md`, where each part of the gate id is a folder."""
    *folders, last = gate_id.split("/")
    partition = model_partition.replace("/", "-")
    stem = _bounded(
        f"{last}.{partition}",
        whole=f"{last}\0{model_partition}",
        doubtful="." in model_partition or "/" in model_partition,
    )
    parts = [_bounded(part, whole=part, doubtful=False) for part in folders]
    return "/".join((*parts, f"{stem}.md"))


def _bounded(name: str, *, whole: str, doubtful: bool) -> str:
    """Return `name`, shortened and with a hash of `whole` if it is too long or ambiguous."""
    data = name.encode("utf-8", "replace")
    if len(data) <= _MAX_NAME_BYTES and not doubtful:
        return name
    kept = data[: _MAX_NAME_BYTES - _HASH_LENGTH - 1].decode("utf-8", "ignore").lstrip(".")
    return f"{kept}-{sha256_hex(whole.encode('utf-8', 'surrogatepass'))[:_HASH_LENGTH]}"


def _value(value: object) -> str:
    """One line that cannot end the comment."""
    if value is None:
        return ""
    return " ".join(str(value).split()).replace("-->", "--&gt;").replace("--!>", "--!&gt;")
