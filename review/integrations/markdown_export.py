"""Writes each current acceptance as a Markdown file of its own, with its metadata on top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from review.artifacts.whole_files import write_whole
from review.domain.identity import sha256_hex
from review.integrations.gate_csv import COLUMNS
from review.queries.exporting import ExportedReview

_MAX_NAME_BYTES = 200
_HASH_LENGTH = 8


@dataclass(frozen=True)
class MarkdownExport:
    """How many files were written, or had that content already; `left` are of no acceptance.

    Paths of `left` are relative to the folder of the export, sorted.
    """

    written: int
    unchanged: int
    left: tuple[str, ...]


def export_markdown(reviews: Iterable[ExportedReview], folder: Path) -> MarkdownExport:
    """Write the reviews, sorted by note, below `folder`; delete nothing.

    :raises ArtifactNotWritten: the system refused; what is written is whole.
    """
    written = unchanged = 0
    left: list[str] = []
    noted: set[str] = set()
    for note_path, group in groupby(reviews, key=lambda review: review.note_path):
        name = note_folder(note_path)
        noted.add(name)
        mine = set()
        for review in group:
            file = review_file(review.gate_id, review.model_partition)
            mine.add(file)
            if _write(folder / name / file, render_export(review)):
                written += 1
            else:
                unchanged += 1
        left += [f"{name}/{file}" for file in _files_below(folder / name) if file not in mine]
    left += [file for file in _files_below(folder) if file.partition("/")[0] not in noted]
    return MarkdownExport(written, unchanged, tuple(sorted(left)))


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


def _files_below(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.md"):
        if file.is_file():
            yield file.relative_to(folder).as_posix()
