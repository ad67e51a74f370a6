"""Names that commands are given; files that are gone: what is accepted of them, and their new place."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os.path import commonpath
from posixpath import basename, split

from django.db.models import Exists, OuterRef, Q, QuerySet

from review.documents.base import Document, ListJson, Problems, from_row, grouped
from review.domain.paths import gate_path_of, normalise_path, path_below
from review.errors import InputRejected
from review.knowledge_base import (
    RULE_NAMES,
    Corpus,
    Gate,
    NoSuchNote,
    NoteFacts,
    NoteText,
    UnreadableFile,
)
from review.models import (
    Acceptance,
    CurrentAcceptance,
    FileSnapshot,
    KbPath,
    ModelPartition,
    batched,
)
from review.selection.documents import RenameJson
from review.vocabulary import AcceptanceKind, ProblemCode, Region


class GateJson(Document, kw_only=True):
    """A gate; `rule` is null unless the embedded reviewer can judge it."""

    gate_id: str
    gate_path: str
    lens: str
    name: str
    description: str
    sha256: str
    watches: list[str]
    staleness: str
    requires_type: list[str]
    requires_trait: list[str]
    rule: str | None
    applies_to: list[str] = []
    language: str | None = None
    reads: list[str] = []
    severity: str | None = None


class GatesJson(ListJson, kw_only=True, tag_field="schema", tag="resolve-gates/1"):
    """The answer of `resolve_gates`; with a note, `gates` are those that apply to it."""

    note_path: str | None
    gates: list[GateJson]
    not_applicable: list[str]
    problems: Problems


def list_gates(corpus: Corpus, names: Sequence[str], *, note: str) -> GatesJson:
    """List the gates that the names, or none for all, stand for, and that apply to `note`."""
    catalog = corpus.gates
    gates = kept = catalog.resolve(names) if names else catalog.gates
    problems = catalog.problems_of(names) if names else catalog.problems
    found = None
    if note:
        found = corpus.facts_of(read_named_note(corpus, path_below(str(corpus.config.root), note)))
        problems += found.problems
        kind = found.kind
        kept = tuple(gate for gate in gates if gate.requirement.applies(kind))
    return GatesJson(
        note_path=found.path if found else None,
        gates=list(map(gate_json, kept)),
        not_applicable=[gate.gate_id for gate in gates if gate not in kept],
        problems=problems,
    )


def read_named_note(corpus: Corpus, path: str) -> NoteText:
    """Read one note that is there, or raise NoSuchNote with near matches."""
    try:
        return corpus.read_note(path)
    except UnreadableFile as refused:
        if refused.problem.code in (ProblemCode.VANISHED, ProblemCode.NOT_A_FILE):
            corpus.notes((path,))
            raise NoSuchNote(
                f"{path!r} is no note", hint="name one file, not a folder"
            ) from refused
        raise


def gate_json(gate: Gate) -> GateJson:
    threshold = gate.rewrite_threshold
    return from_row(
        GateJson,
        gate,
        gate_path=gate.path,
        watches=[region.value for region in Region if region in gate.watches],
        staleness="changed" if threshold is None else f"rewrite({threshold:g})",
        requires_type=list(gate.requirement.types),
        requires_trait=list(gate.requirement.traits),
        rule=gate.rule if gate.rule in RULE_NAMES else None,
        applies_to=list(gate.requirement.places),
        language=gate.requirement.language or None,
        reads=["links"] if gate.reads_links else [],
    )


def named_gates(corpus: Corpus, names: Iterable[str]) -> tuple[Gate, ...]:
    """Return the gates of these ids or paths, sorted by path, each once; a bundle is none."""
    found = {gate.path: gate for gate in (_named_gate(corpus, name) for name in names)}
    return tuple(found[path] for path in sorted(found))


def _named_gate(corpus: Corpus, name: str) -> Gate:
    folder = corpus.gates.folder
    gates = corpus.gates.resolve((name,))
    gate_id = normalise_path(name).removeprefix(f"{folder}/").removesuffix(".md")
    if gates and gate_id not in {gate.gate_id for gate in gates}:
        hint = f"they are {', '.join(gate.gate_id for gate in gates)}"
        raise InputRejected(
            f"{name!r} is a bundle; name its gates one by one", "not-one-gate", hint=hint
        )
    return corpus.gate(gate_path_of(gate_id, folder))


def command_to_review(note_path: str, gate_id: str, *, model_partition: str) -> str:
    """Return the command line that makes a job for a pair, fresh or not."""
    select = ["review_target_selector", gate_id, "--note", note_path]
    select += ["--mode", "requested", "--model", model_partition, "--json"]
    return f"commonplace {shlex.join(select)} | commonplace create_review_jobs --input - --grouping note"


_ASKED_AT_MOST = 100


def named_places(corpus: Corpus, names: Iterable[str]) -> tuple[str, ...]:
    """The identities of files and folders that are on disk or that the store has notes of."""
    places = tuple(path_below(str(corpus.config.root), name) for name in names)
    for place in places:
        known = KbPath.objects.filter(below((place,), field="path")).values_list("path", flat=True)
        if not any(map(within((place,)), known.iterator())):
            try:
                corpus.notes([place])
            except NoSuchNote as error:
                if any(f"{gate.gate_id}/".startswith(f"{place}/") for gate in corpus.gates.gates):
                    error.hint = "it is the name of gates, which --note does not take"
                raise
    return places


def below(places: Sequence[str], *, field: str) -> Q:
    """Preselect paths at or below the places; `is_below` must filter the rows.

    SQLite ignores case, and of many places, which databases refuse, it is their common folder.
    """
    if len(places) > _ASKED_AT_MOST:
        return Q(**{f"{field}__startswith": commonpath(places)})
    condition = Q()
    for place in places:
        condition |= Q(**{field: place}) | Q(**{f"{field}__startswith": f"{place}/"})
    return condition


def is_below(path: str, places: Iterable[str]) -> bool:
    """True if the path is one of the places or below one, or there are no places."""
    return within(places)(path)


def within(places: Iterable[str]) -> Callable[[str], bool]:
    """`is_below` of these places, for many paths; there may be thousands of both."""
    known = frozenset(places)

    def holds(path: str) -> bool:
        while path and path not in known:
            path = path.rpartition("/")[0]
        return bool(path) or not known

    return holds


# A retired key pins an empty text in place of the file that is gone.
EMPTY_SHA256 = hashlib.sha256().hexdigest()


def is_there(corpus: Corpus, path: str, *, kind: str) -> bool:
    """Return True if the file of a note or a gate exists, readable or not."""
    try:
        _reader(corpus, kind)(path)
    except UnreadableFile as refused:
        return refused.problem.code is not ProblemCode.VANISHED
    return True


def _reader(corpus: Corpus, kind: str) -> Callable[[str], NoteText | Gate]:
    return corpus.gate if kind == "gate" else corpus.read_note


def live_acceptances(kind: str, paths: Mapping[str, int]) -> dict[str, int]:
    """Count acceptances in effect of files that are gone (paths to keys), where there are any."""
    found: Counter[str] = Counter()
    for chunk in batched(paths.items(), 200):
        names = {key: path for path, key in chunk}
        rows = CurrentAcceptance.objects.filter(
            model_partition_id__in=list(ModelPartition.objects.values_list("pk", flat=True)),
            **{f"{kind}_id__in": list(names)},
        ).exclude(
            **{f"{kind}_snapshot__content_sha256": EMPTY_SHA256},
            event__kind=AcceptanceKind.OVERRIDE,
        )
        keys = rows.values_list(f"{kind}_id", "event_id", "event__review_pair_id")
        live = carried_away((event_id, pair_id) for _key, event_id, pair_id in keys)
        found.update(names[key] for key, event_id, _pair_id in keys if event_id not in live)
    return dict(found)


def carried_away(events: Iterable[tuple[int, int | None]]) -> set[int]:
    """Those of the acceptances, with their review pairs, that were carried to another key later."""
    found: set[int] = set()
    for chunk in batched(events, 500):
        carried = Acceptance.objects.filter(
            kind=AcceptanceKind.CARRY_OVER, review_pair_id__in={pair_id for _, pair_id in chunk}
        )
        latest: dict[int | None, int] = dict(
            carried.order_by("pk").values_list("review_pair_id", "pk")
        )
        found |= {event_id for event_id, pair_id in chunk if latest.get(pair_id, 0) > event_id}
    return found


_ALIKE = 0.6
# More pairs of texts are not compared, but for those of one folder or name, if these are few enough.
_MAX_COMPARED = 2_500
_MAX_WORDS = 5_000


def find_renames(
    corpus: Corpus, notes: Iterable[NoteFacts], *, listed: Iterable[NoteFacts] | None = None
) -> list[RenameJson]:
    """Renames of gates, and from notes that are gone to some of `notes` that nobody reviewed."""
    new = {note.path: note.sha256 for note in notes}
    if not CurrentAcceptance.objects.exists():
        return []
    gates = {gate.path: gate.sha256 for gate in corpus.gates.gates}
    found = _renames(corpus, gates, gates, kind="gate")
    if new:
        present = corpus.notes().notes if listed is None else listed
        found += _renames(corpus, new, {note.path for note in present}, kind="note")
    return found


def _renames(
    corpus: Corpus, new: Mapping[str, str], present: Collection[str], *, kind: str
) -> list[RenameJson]:
    gone = _gone(corpus, present, kind=kind)
    if not gone:
        return []
    reviewed = set(_reviewed(new, kind=kind))
    new = {path: sha256 for path, sha256 in new.items() if path not in reviewed}
    found = list(_identical(gone, new))
    lost = sorted(gone.keys() - {item.old_path for item in found})
    old_left = {path: gone[path] for path in lost}
    new_left = sorted(new.keys() - {item.new_path for item in found})
    if len(old_left) * len(new_left) > _MAX_COMPARED:
        near = {part for path in old_left for part in split(path)}
        new_left = [path for path in new_left if near.intersection(split(path))]
    if len(old_left) * len(new_left) <= _MAX_COMPARED:
        found += _similar(corpus, old_left, new_left, kind=kind)
    return list(_by_folder(sorted(found, key=lambda rename: rename.old_path), gone))


def _gone(corpus: Corpus, present: Collection[str], *, kind: str) -> dict[str, int]:
    gates = f"{corpus.gates.folder}/"
    missing = {
        path: key
        for path, key in KbPath.objects.values_list("path", "pk")
        if path.startswith(gates) == (kind == "gate")
        and path not in present
        and not is_there(corpus, path, kind=kind)
    }
    return {path: missing[path] for path in live_acceptances(kind, missing)}


def _reviewed(paths: Iterable[str], *, kind: str) -> Iterator[str]:
    for chunk in batched(KbPath.objects.ids(paths).values(), 500):
        # Not joined: a note has as many acceptances as gates.
        yield from KbPath.objects.filter(
            Exists(_accepted(OuterRef("pk"), kind=kind)), pk__in=chunk
        ).values_list("path", flat=True)


def _accepted(key: int | OuterRef, *, kind: str) -> QuerySet[CurrentAcceptance]:
    # The index starts with the partition.
    return CurrentAcceptance.objects.filter(
        model_partition_id__in=list(ModelPartition.objects.values_list("pk", flat=True)),
        **{f"{kind}_id": key},
    )


def _identical(gone: Iterable[str], new: Mapping[str, str]) -> Iterator[RenameJson]:
    """Pairs of equal bytes, each path once; of several copies the one with the same name first."""
    by_digest = grouped((sha256, path) for path, sha256 in new.items())
    taken: set[str] = set()
    for chunk in batched(sorted(gone), 500):
        rows = FileSnapshot.objects.filter(path__path__in=chunk).order_by("path__path", "-pk")
        for old, sha256 in rows.values_list("path__path", "content_sha256"):
            if (paths := by_digest.get(sha256)) and old not in taken:
                name = basename(old)
                path = min(paths, key=lambda path: (basename(path) != name, path))
                paths.remove(path)
                taken.add(old)
                yield _rename(old, path, 1.0)


def _similar(
    corpus: Corpus, gone: Mapping[str, int], new: Sequence[str], *, kind: str
) -> Iterator[RenameJson]:
    from rapidfuzz.distance import Indel

    texts = {path: _accepted(key, kind=kind).order_by("-event_id") for path, key in gone.items()}
    old_words = {
        path: rows.values_list(f"{kind}_snapshot__text", flat=True)[0].split()[:_MAX_WORDS]
        for path, rows in texts.items()
    }
    scored, read = [], _reader(corpus, kind)
    for path in new:
        try:
            words = read(path).text.split()[:_MAX_WORDS]
        except UnreadableFile:
            continue
        for old, other in old_words.items():
            alike = Indel.normalized_similarity(words, other, score_cutoff=_ALIKE)
            scored.append((-alike, basename(old) != basename(path), old, path))
    taken: set[str] = set()
    for less, _other_name, old, path in sorted(scored):
        if -less >= _ALIKE and old not in taken and path not in taken:
            taken |= {old, path}
            yield _rename(old, path, round(-less, 2))


def _by_folder(renames: Sequence[RenameJson], gone: Iterable[str]) -> Iterator[RenameJson]:
    """One line for a folder of which every gone note went the same way, else one for each note."""
    by_move: dict[tuple[str, str], list[RenameJson]] = defaultdict(list)
    for rename in renames:
        # The two folders that differ, if the note has the same name below both.
        old_parts, new_parts = rename.old_path.split("/"), rename.new_path.split("/")
        while old_parts and new_parts and old_parts[-1] == new_parts[-1]:
            del old_parts[-1], new_parts[-1]
        by_move["/".join(old_parts), "/".join(new_parts)].append(rename)
    for (old, new), moved in by_move.items():
        whole = sum(path.startswith(f"{old}/") for path in gone) == len(moved)
        if len(moved) > 1 and old and new and whole:
            yield _rename(old, new, min(rename.similarity for rename in moved))
        else:
            yield from moved


def _rename(old: str, new: str, similarity: float) -> RenameJson:
    words = ["commonplace", "carry_over_acceptances", old, new]
    words += ["--edited"] if similarity < 1 else []
    return RenameJson(old, new, similarity, shlex.join(words))
