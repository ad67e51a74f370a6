"""Finds notes that were probably renamed: one is gone with its reviews, another is new without."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from review.knowledge_base import Corpus, NoteFacts, UnreadableFile
from review.models import CurrentAcceptance, FileSnapshot, KbPath, ModelPartition, batched
from review.selection.documents import RenameJson
from review.selection.orphans import is_there, live_acceptances

_ALIKE = 0.6
# More pairs of texts are not compared, but for those of one folder or name, if these are few enough.
_MAX_COMPARED = 2_500
_MAX_WORDS = 5_000


@dataclass(frozen=True)
class _Rename:
    old: str
    new: str
    similarity: float


def find_renames(
    corpus: Corpus, notes: Iterable[NoteFacts], *, listed: Iterable[NoteFacts] | None = None
) -> list[RenameJson]:
    """Renames from notes that are gone to some of `notes` that nobody reviewed; by old path.

    :param listed: all notes there are, where they were looked at already.
    """
    new = {note.path: note.sha256 for note in notes}
    if not new or not CurrentAcceptance.objects.exists():
        return []
    present = corpus.notes().notes if listed is None else listed
    gone = _gone_notes(corpus, {note.path for note in present})
    if not gone:
        return []
    for path in _reviewed(new):
        del new[path]
    found = list(_identical(gone, new))
    old_left = sorted(gone.keys() - {rename.old for rename in found})
    new_left = sorted(new.keys() - {rename.new for rename in found})
    if len(old_left) * len(new_left) > _MAX_COMPARED:
        near = {part for path in old_left for part in path.rpartition("/")[::2]}
        new_left = [path for path in new_left if near.intersection(path.rpartition("/")[::2])]
    if len(old_left) * len(new_left) <= _MAX_COMPARED:
        found += _similar(corpus, {path: gone[path] for path in old_left}, new_left)
    return list(_by_folder(sorted(found, key=lambda rename: rename.old), gone))


def _gone_notes(corpus: Corpus, present: set[str]) -> dict[str, int]:
    """Paths that have acceptances and no file, with their keys."""
    gates = f"{corpus.gates.folder}/"
    missing = {
        path: key
        for path, key in KbPath.objects.values_list("path", "pk")
        if path not in present and not path.startswith(gates) and not is_there(corpus, path)
    }
    return {path: missing[path] for path in live_acceptances("note", missing)}


def _reviewed(paths: Iterable[str]) -> Iterator[str]:
    ids = KbPath.objects.ids(paths)
    for chunk in batched(ids.values(), 500):
        # Not joined: a note has as many acceptances as gates.
        known = KbPath.objects.filter(pk__in=chunk).filter(Exists(_accepted(OuterRef("pk"))))
        yield from known.values_list("path", flat=True)


def _accepted(note_id: int | OuterRef) -> QuerySet[CurrentAcceptance]:
    # The index starts with the partition.
    partitions = list(ModelPartition.objects.values_list("pk", flat=True))
    return CurrentAcceptance.objects.filter(model_partition_id__in=partitions, note_id=note_id)


def _identical(gone: Mapping[str, int], new: Mapping[str, str]) -> Iterator[_Rename]:
    """Pairs of equal bytes, each path once; of several copies the one with the same name first."""
    by_digest: dict[str, list[str]] = {}
    for path, sha256 in new.items():
        by_digest.setdefault(sha256, []).append(path)
    for chunk in batched(sorted(gone), 500):
        rows = FileSnapshot.objects.filter(path__path__in=chunk).order_by("path__path", "-pk")
        taken: set[str] = set()
        for old, sha256 in rows.values_list("path__path", "content_sha256"):
            left = by_digest.get(sha256)
            if not left or old in taken:
                continue
            path = min(left, key=lambda path: (_name(path) != _name(old), path))
            left.remove(path)
            taken.add(old)
            yield _Rename(old, path, 1.0)


def _similar(corpus: Corpus, gone: Mapping[str, int], new: Sequence[str]) -> Iterator[_Rename]:
    """The likest pairs of texts, each path once."""
    from rapidfuzz.distance import Indel

    old_words = {path: _accepted_text(key).split()[:_MAX_WORDS] for path, key in gone.items()}
    scored = []
    for path in new:
        words = _words(corpus, path)
        for old, other in old_words.items():
            alike = Indel.normalized_similarity(words, other, score_cutoff=_ALIKE)
            scored.append((-alike, _name(old) != _name(path), old, path))
    taken: set[str] = set()
    for less, _other_name, old, path in sorted(scored):
        if -less >= _ALIKE and old not in taken and path not in taken:
            taken |= {old, path}
            yield _Rename(old, path, round(-less, 2))


def _accepted_text(note_id: int) -> str:
    rows = _accepted(note_id).order_by("-event_id")
    return rows.values_list("note_snapshot__text", flat=True)[0]


def _words(corpus: Corpus, path: str) -> list[str]:
    try:
        return corpus.read_note(path).text.split()[:_MAX_WORDS]
    except UnreadableFile:
        return []


def _by_folder(renames: Sequence[_Rename], gone: Mapping[str, int]) -> Iterator[RenameJson]:
    """One line for a folder of which every gone note went the same way, else one for each note."""
    by_move: dict[tuple[str, str], list[_Rename]] = {}
    for rename in renames:
        by_move.setdefault(_moved_folder(rename), []).append(rename)
    for (old, new), moved in by_move.items():
        whole = sum(path.startswith(f"{old}/") for path in gone) == len(moved)
        if len(moved) > 1 and old and new and whole:
            yield _json(old, new, min(rename.similarity for rename in moved))
        else:
            for rename in moved:
                yield _json(rename.old, rename.new, rename.similarity)


def _moved_folder(rename: _Rename) -> tuple[str, str]:
    """The two folders that differ, if the note has the same name below both."""
    old, new = rename.old.split("/"), rename.new.split("/")
    while old and new and old[-1] == new[-1]:
        old.pop()
        new.pop()
    return "/".join(old), "/".join(new)


def _json(old: str, new: str, similarity: float) -> RenameJson:
    words = ["commonplace", "carry_over_acceptances", old, new]
    if similarity < 1:
        words.append("--edited")
    return RenameJson(old_path=old, new_path=new, similarity=similarity, command=shlex.join(words))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
