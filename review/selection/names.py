"""What names on a command line stand for: one note, and gates that are named one by one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from review.domain.paths import gate_path_of, normalise_path
from review.errors import InputRejected
from review.knowledge_base import Corpus, Gate, UnreadableFile
from review.selection.note_cache import CachedNote, NoteCache
from review.vocabulary import ProblemCode


class NotOneGate(InputRejected):
    """A name that stands for several gates where each must be named."""


def named_note(corpus: Corpus, notes: NoteCache, name: str) -> CachedNote:
    """The note at a root-relative path, as it stands now.

    :raises BadPath, NoSuchNote, UnreadableFile: there is none, or it cannot be reviewed.
    """
    path = normalise_path(name)
    try:
        return notes.note(path)
    except UnreadableFile as refused:
        if refused.problem.code is ProblemCode.VANISHED:
            corpus.notes((path,))  # refuses with the names that look like it
        raise


def named_gates(corpus: Corpus, names: Iterable[str]) -> tuple[Gate, ...]:
    """The gates of these ids or paths, sorted by path, each once.

    :raises UnknownGate, AmbiguousGate: a name stands for nothing, or for a gate and a bundle.
    :raises NotOneGate: a name is a bundle.
    :raises UnreadableFile: the gate exists and cannot be used.
    """
    found = {gate.path: gate for gate in (_named_gate(corpus, name) for name in names)}
    return tuple(found[path] for path in sorted(found))


def _named_gate(corpus: Corpus, name: str) -> Gate:
    catalog = corpus.gates
    gates = catalog.resolve((name,))
    if len(gates) == 1 and gates[0].gate_id in _spellings(name, catalog.folder):
        return gates[0]
    if gates:
        raise NotOneGate(
            f"{name!r} is a bundle; name its gates one by one",
            hint=f"they are {', '.join(gate.gate_id for gate in gates)}",
        )
    return corpus.gate(
        gate_path_of(_spellings(name, catalog.folder)[0], gates_folder=catalog.folder)
    )


def _spellings(name: str, folder: str) -> tuple[str, ...]:
    path = normalise_path(name).removeprefix(f"{folder}/")
    return (path.removesuffix(".md"), path)


def command_to_review(note_path: str, gate_id: str, *, model_partition: str) -> str:
    """Return the command line that makes a job for a pair, fresh or not."""
    select = ["review_target_selector", gate_id, "--note", note_path]
    select += ["--mode", "requested", "--model", model_partition, "--json"]
    return f"commonplace {shlex.join(select)} | commonplace create_review_jobs --input - --grouping note"
