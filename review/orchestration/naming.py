"""Names on a command line: one note, and gates that are named one by one."""

from __future__ import annotations

from collections.abc import Iterable

from review.corpus import Corpus, Gate
from review.domain.identity import gate_path_of, normalise_path
from review.errors import InputRejected
from review.orchestration.note_shelf import NoteShelf, ShelvedNote
from review.queries.gate_listing import read_named_note


class NotOneGate(InputRejected):
    """A name that stands for several gates where each must be named."""


def named_note(corpus: Corpus, name: str) -> ShelvedNote:
    """Read the note at a root-relative path.

    :raises BadPath, NoSuchNote, UnreadableFile: there is none, or it cannot be reviewed.
    """
    return NoteShelf(corpus).note(read_named_note(corpus, normalise_path(name)).path)


def named_gates(corpus: Corpus, names: Iterable[str]) -> tuple[Gate, ...]:
    """Return the gates of these ids or paths, sorted by path, each once.

    :raises UnknownGate, AmbiguousGate: a name stands for nothing, or for a gate and a bundle.
    :raises NotOneGate: a name is a bundle.
    :raises UnreadableFile: the gate exists and cannot be used.
    """
    found = {gate.path: gate for gate in (_named_gate(corpus, name) for name in names)}
    return tuple(found[path] for path in sorted(found))


def _named_gate(corpus: Corpus, name: str) -> Gate:
    folder = corpus.gates.folder
    gates = corpus.gates.resolve((name,))
    gate_id = normalise_path(name).removeprefix(f"{folder}/").removesuffix(".md")
    path = gate_path_of(gate_id, gates_folder=folder)
    if gates and path not in {gate.path for gate in gates}:
        raise NotOneGate(
            f"{name!r} is a bundle; name its gates one by one",
            hint=f"they are {', '.join(gate.gate_id for gate in gates)}",
        )
    return corpus.gate(path)
