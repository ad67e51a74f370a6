"""Names on a command line: one note, and gates that are named one by one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from review.domain.paths import gate_path_of, normalise_path
from review.errors import InputRejected
from review.knowledge_base import Corpus, Gate
from review.selection.gate_names import read_named_note
from review.selection.note_cache import CachedNote, NoteCache


class NotOneGate(InputRejected):
    """A name that stands for several gates where each must be named."""


def named_note(corpus: Corpus, name: str) -> CachedNote:
    """Read the note at a root-relative path.

    :raises BadPath, NoSuchNote, UnreadableFile: there is none, or it cannot be reviewed.
    """
    return NoteCache(corpus).note(read_named_note(corpus, normalise_path(name)).path)


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


def command_to_review(note_path: str, gate_id: str, *, model_partition: str) -> str:
    """Return the command line that makes a job for a pair, fresh or not."""
    select = ["review_target_selector", gate_id, "--note", note_path]
    select += ["--mode", "requested", "--model", model_partition, "--json"]
    return f"commonplace {shlex.join(select)} | commonplace create_review_jobs --input - --grouping note"
