"""Exports current acceptances: each as a Markdown file of its own, or all in a CSV index."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from review.documents.csv_cells import safe_cell
from review.domain.paths import sha256_hex
from review.job_files.atomic_write import write_whole
from review.reviews.documents import ExportedJson
from review.reviews.export_queries import ExportedReview

COLUMNS = tuple(field.name for field in fields(ExportedReview) if field.name != "text")
_MAX_NAME_BYTES = 200
_HASH_LENGTH = 8


def gate_csv(reviews: Iterable[ExportedReview]) -> Iterator[str]:
    """A header and a row for each review, one line at a time, safe to open in a spreadsheet."""
    yield _csv_row(COLUMNS)
    for review in reviews:
        yield _csv_row(safe_cell(getattr(review, name)) for name in COLUMNS)


def _csv_row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def export_markdown(reviews: Iterable[ExportedReview], folder: Path) -> ExportedJson:
    """Write the reviews, sorted by note, below `folder`; delete nothing.

    :raises ArtifactNotWritten: the system refused; what is written is whole.
    """
    done = ExportedJson(
        format="markdown", output=str(folder), reviews=0, written=0, unchanged=0, left=[]
    )
    expected: set[str] = set()
    for review in reviews:
        name = note_folder(review.note_path)
        file = f"{name}/{review_file(review.gate_id, review.model_partition)}"
        expected.add(file)
        done.reviews += 1
        if _write(folder / file, render_export(review)):
            done.written += 1
        else:
            done.unchanged += 1
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
    """`name`, cut and told apart by a hash of `whole` where it is too long or could be another's."""
    data = name.encode("utf-8", "replace")
    if len(data) <= _MAX_NAME_BYTES and not doubtful:
        return name
    kept = data[: _MAX_NAME_BYTES - _HASH_LENGTH - 1].decode("utf-8", "ignore").lstrip(".")
    return f"{kept}-{sha256_hex(whole.encode('utf-8', 'surrogatepass'))[:_HASH_LENGTH]}"


def _value(value: object) -> str:
    """One line that cannot end the comment."""
    if value is None:
        return ""
    text = " ".join(str(value).split())
    return text.replace("-->", "--&gt;").replace("--!>", "--!&gt;")


def _write(path: Path, text: str) -> bool:
    data = text.encode("utf-8", "replace")
    try:
        if path.read_bytes() == data:
            return False
    except OSError:
        pass
    write_whole(path, data)
    return True
