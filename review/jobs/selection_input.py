"""Reads selector JSON as the input of job creation: every target holds, or nothing is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from review.documents.base import NotThisDocument, decode
from review.domain.model_partition import ModelNameRefused
from review.domain.paths import gate_id_of, near_matches, normalise_path
from review.errors import InputRejected
from review.jobs.provenance import canonical_partition
from review.knowledge_base import GateCatalog
from review.selection.documents import SELECTION_SCHEMA, SelectionInput, TargetInput
from review.settings.config import REPORTS_FOLDER, Config

_NAMED_FAULTS = 5


class BadTargets(InputRejected):
    """Targets that agree neither with one another nor with the files; nothing is taken."""


class PartitionNotConcrete(InputRejected):
    """The selection is for no model partition, or for one that is not written as it is named."""


@dataclass(frozen=True, slots=True)
class Target:
    """A pair that was asked for. Its files may have changed or gone since it was selected."""

    note_path: str
    gate_path: str
    gate_id: str
    gate_sha256: str | None


@dataclass(frozen=True)
class Selection:
    """What was asked for, in the order it was asked for."""

    model_partition: str
    targets: tuple[Target, ...]


def read_selection(data: bytes, *, source: str, config: Config, catalog: GateCatalog) -> Selection:
    """Read and check a whole selection.

    :param source: what a message calls the input.
    :raises NotThisDocument: it is not selector JSON.
    :raises PartitionNotConcrete: there is no partition, or it is not canonical.
    :raises BadTargets: a target is bad; names index and reason.
    """
    document = decode(data, SelectionInput, source=source)
    if document.schema != SELECTION_SCHEMA:
        raise NotThisDocument(
            f"{source}: schema {document.schema!r}, expected {SELECTION_SCHEMA!r}",
            hint="job creation reads what commonplace review_target_selector --json prints",
        )
    partition = _concrete(document.model_partition, source=source, config=config)
    check = _TargetCheck(config, catalog)
    targets: list[Target] = []
    faults: list[str] = []
    for index, raw in enumerate(document.targets):
        try:
            targets.append(check.read(raw))
        except (InputRejected, msgspec.DecodeError, UnicodeDecodeError) as error:
            faults.append(f"targets[{index}]: {error}")
    if faults:
        raise _bad_targets(source, faults)
    return Selection(partition, tuple(targets))


def _concrete(name: str | None, *, source: str, config: Config) -> str:
    if name is None:
        raise PartitionNotConcrete(
            f"{source}: model_partition is null: a review needs a model to be made for",
            hint="select with --model PARTITION",
        )
    try:
        canonical = canonical_partition(name, config=config)
    except ModelNameRefused as error:
        raise PartitionNotConcrete(f"{source}: model_partition: {error}") from error
    if canonical != name:
        raise PartitionNotConcrete(
            f"{source}: model_partition {name!r} is not the name of a partition",
            hint=f"it is called {canonical!r}: select with --model {canonical}",
        )
    return name


class _TargetCheck:
    def __init__(self, config: Config, catalog: GateCatalog) -> None:
        self._config = config
        self._gate_ids = {gate.gate_id for gate in catalog.gates} | set(catalog.skipped)
        self._gate_of_text = {gate.sha256: gate.gate_id for gate in catalog.gates}
        self._decode = msgspec.json.Decoder(TargetInput).decode
        self._known_notes: dict[str, str] = {}
        self._known_gates: dict[tuple[str, str, str | None], tuple[str, str]] = {}

    def read(self, raw: msgspec.Raw) -> Target:
        item = self._decode(raw)
        if item.note_path not in self._known_notes:
            self._known_notes[item.note_path] = self._note_path(item.note_path)
        key = (item.gate_path, item.gate_id, item.gate_sha256)
        if key not in self._known_gates:
            self._known_gates[key] = self._gate(item)
        return Target(self._known_notes[item.note_path], *self._known_gates[key], item.gate_sha256)

    def _note_path(self, raw: str) -> str:
        path = normalise_path(raw)
        if not path.endswith(".md"):
            raise BadTargets(f"note_path {raw!r} is no note: expected a .md file")
        below = path
        for root in self._config.note_roots:
            below = below.removeprefix(f"{root}/")
        hidden = any(part.startswith(".") for part in below.split("/"))
        if hidden or self._is_ours(path):
            raise BadTargets(f"note_path {raw!r} is no note: hidden files and reports never are")
        return path

    def _is_ours(self, path: str) -> bool:
        file = PurePosixPath(self._config.root, path)
        return path.startswith(f"{REPORTS_FOLDER}/") or file.is_relative_to(self._config.artifacts)

    def _gate(self, item: TargetInput) -> tuple[str, str]:
        gate_path, gate_id = normalise_path(item.gate_path), normalise_path(item.gate_id)
        own_id = gate_id_of(gate_path, gates_folder=self._config.gates_folder)
        if gate_id != own_id:
            raise BadTargets(
                f"gate_id {item.gate_id!r} is not the gate at {gate_path!r}, which is {own_id!r}"
            )
        if gate_id not in self._gate_ids:
            self._refuse_unknown(item, gate_id)
        return gate_path, gate_id

    def _refuse_unknown(self, item: TargetInput, gate_id: str) -> None:
        # A digest shows that the gate was there when it was selected: it is gone, not misspelt.
        moved = self._gate_of_text.get(item.gate_sha256 or "")
        if item.gate_sha256 is not None and moved is None:
            return
        near = (moved,) if moved else near_matches(gate_id, self._gate_ids)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise BadTargets(f"there is no gate {gate_id!r}{hint}")


def _bad_targets(source: str, faults: Sequence[str]) -> BadTargets:
    named = "; ".join(faults[:_NAMED_FAULTS])
    more = len(faults) - _NAMED_FAULTS
    rest = f"; and {more} more" if more > 0 else ""
    return BadTargets(f"{source}: {named}{rest}", hint="nothing was written; select again")
