"""What gate names stand for, and which of those gates apply to a note."""

from __future__ import annotations

from collections.abc import Sequence

from review.documents.problems import problem_json
from review.domain.applicability import applies
from review.domain.paths import path_below
from review.domain.rule_names import RULE_NAMES
from review.knowledge_base import Corpus, Gate, NoSuchNote, NoteText
from review.knowledge_base.reader import UnreadableFile
from review.selection.gate_documents import GateJson, GatesJson
from review.vocabulary import ProblemCode, Region


def list_gates(corpus: Corpus, names: Sequence[str], *, note: str, root: str) -> GatesJson:
    """List the gates that the names stand for, sorted by path; all gates when none is named.

    :param note: keep the gates that apply to this note; "" keeps all.
    :raises UnknownGate, AmbiguousGate: a name does not resolve.
    :raises NoSuchNote: there is no such note.
    :raises UnreadableFile: the file cannot be taken as a note.
    """
    catalog = corpus.gates
    gates = catalog.resolve(names) if names else catalog.gates
    problems = list(catalog.problems_of(names) if names else catalog.problems)
    found = None
    if note:
        found = corpus.facts_of(read_named_note(corpus, path_below(root, note)))
        problems += found.problems
    kept = [gate for gate in gates if found is None or applies(gate.requirement, found.kind)]
    return GatesJson(
        note_path=None if found is None else found.path,
        gates=[gate_json(gate) for gate in kept],
        not_applicable=[gate.gate_id for gate in gates if gate not in kept],
        problems=[problem_json(problem) for problem in problems],
    )


def read_named_note(corpus: Corpus, path: str) -> NoteText:
    """Read one note that is there.

    :raises NoSuchNote: there is no such note, or it is a folder; near matches are named.
    :raises UnreadableFile: the file cannot be taken as a note.
    """
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
    return GateJson(
        gate_id=gate.gate_id,
        gate_path=gate.path,
        lens=gate.lens,
        name=gate.name,
        description=gate.description,
        sha256=gate.sha256,
        watches=[region.value for region in Region if region in gate.watches],
        staleness="changed" if threshold is None else f"rewrite({threshold:g})",
        requires_type=list(gate.requirement.types),
        requires_trait=list(gate.requirement.traits),
        rule=gate.rule if gate.rule in RULE_NAMES else None,
        applies_to=list(gate.requirement.places),
        language=gate.requirement.language or None,
    )
