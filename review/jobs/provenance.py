"""Checks what is said about jobs: the model of a parent against the partition, a selection's targets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar

import msgspec

from review.documents.base import NotThisDocument, decode
from review.domain.model_partition import (
    ModelNameRefused,
    build_model_partition,
    effort_part,
    model_part,
)
from review.domain.paths import near_matches, normalise_path
from review.errors import Conflict, InputRejected, UsageRefused
from review.models import ModelPartition, Provenance, ReviewJob
from review.protocol.telemetry import output_tokens_by_model, telemetry_models
from review.selection.documents import SELECTION_SCHEMA, SelectionInput, TargetInput
from review.settings import REPORTS_FOLDER, Config

_T = TypeVar("_T")
_NAMED_FAULTS = 5
Validated = Literal["full", "model", "none"]


class PartitionMismatch(Conflict): ...


class ProvenanceDisagrees(Conflict): ...


def check_flags(provenance: Provenance, *, effort_unknown: bool, config: Config) -> None:
    """Refuse flags that say nothing together, and names of which no partition can be made."""
    if provenance.runner_effort is not None and effort_unknown:
        raise UsageRefused("--runner-effort names the effort that --effort-unknown calls unknown")
    if provenance.runner_model is None and (effort_unknown or provenance.runner_effort is not None):
        flag = "--effort-unknown" if effort_unknown else "--runner-effort"
        hint = "name the model too, or leave both out when the harness exposes neither"
        raise UsageRefused(f"{flag} says nothing without --runner-model", hint=hint)
    if (model := provenance.runner_model) is not None:
        build_model_partition(model, provenance.runner_effort, aliases=config.aliases)


def validate_provenance(
    partition: str, provenance: Provenance, *, effort_unknown: bool, config: Config
) -> Validated:
    """Return how far the named model and effort are known to make `partition`, or refuse them.

    `none`: no model was named. `model`: the effort is not known. `full`: both were compared; an
    effort beside a partition without one counts where it was declared with `any_effort`.
    """
    model, effort = provenance.runner_model, provenance.runner_effort
    if model is None:
        return "none"
    named = build_model_partition(model, aliases=config.aliases)
    if effort_unknown and effort_part(named) in (None, effort_part(partition)):
        matches = model_part(named) == model_part(partition)
        made = named
    else:
        made = build_model_partition(model, effort, aliases=config.aliases)
        any_effort = config.accepts_any_effort(partition) and effort_part(partition) is None
        matches = made == partition or (any_effort and model_part(made) == partition)
    if not matches:
        said = f"model {model!r}" + ("" if effort is None else f" with effort {effort!r}")
        message = f"the job is for partition {partition!r}, and {said} makes {made!r}"
        raise PartitionMismatch(message, hint=_hint(partition, made))
    return "model" if effort_unknown else "full"


def check_provenance(
    job: ReviewJob, given: Provenance, *, effort_unknown: bool, config: Config
) -> None:
    """Validate what a parent states at last against the job, or against the claim it has."""
    if job.started_at is None:
        partition = job.model_partition.name
        validate_provenance(partition, given, effort_unknown=effort_unknown, config=config)
        return
    for name, said in vars(given).items():
        recorded = getattr(job, name)
        if said is not None and said != recorded:
            option = f"--{name.replace('_', '-')}"
            claim = f"without {option}" if recorded is None else f"with {option} {recorded!r}"
            raise ProvenanceDisagrees(
                f"job {job.pk} was claimed {claim}, not with {said!r}",
                hint="leave the flag out: the claim's provenance stands",
            )


def unknown_partitions(
    names: Iterable[str | None], *, config: Config, known: Collection[str] | None = None
) -> Iterator[str]:
    """Name the partitions that are none of `known`, or of those with reviews, and near ones."""
    wanted = {name for name in names if name} - config.partitions.keys()
    if wanted and known is None:
        known = ModelPartition.objects.values_list("name", flat=True)
    for name in sorted(wanted - set(known or ())):
        near = " or ".join(near_matches(name, {*(known or ()), *config.partitions}))
        meant = f"; did you mean {near}?" if near else ""
        yield f"no job or review is of model partition {name!r}{meant}"


def partition_contradicts(partition: str, models: Iterable[str], *, config: Config) -> bool:
    """Return True if none of `models` (of telemetry, or of the output) makes the partition."""
    named = tuple(models)
    return bool(named) and not any(_agrees(partition, model, config) for model in named)


def contradicting_models(
    partition: str, telemetry: Mapping[str, Any] | None, *, config: Config
) -> tuple[str, ...]:
    """Return the models named by telemetry if at least half the output is not the partition's."""
    tokens = output_tokens_by_model(telemetry)
    models = tuple(tokens) or telemetry_models(telemetry)
    others = [count for model, count in tokens.items() if not _agrees(partition, model, config)]
    if tokens:
        return models if 2 * sum(others) >= sum(tokens.values()) else ()
    return models if partition_contradicts(partition, models, config=config) else ()


def _agrees(partition: str, model: str, config: Config) -> bool:
    try:
        made = build_model_partition(model, aliases=config.aliases)
    except ModelNameRefused:
        return False
    efforts = {effort_part(made), effort_part(partition)} - {None}
    same_effort = len(efforts) < 2 or config.accepts_any_effort(partition)
    return model_part(made) == model_part(partition) and same_effort


def _hint(partition: str, made: str) -> str:
    if model_part(made) != model_part(partition):
        return f"claim jobs of your own partition: --next --model-partition {made}"
    if effort_part(made) is None:
        how = "name it with --runner-effort, or say --effort-unknown"
        return f"the partition's effort is {effort_part(partition)!r}: {how}"
    if effort_part(partition) is None:
        how = f'declare it in kb/review.toml: [partitions."{partition}"] any_effort = true'
        return f"the partition has no effort; to take any, {how}"
    return "jobs of one effort are not reviewed with another"


class BadTargets(InputRejected):
    """Targets that agree neither with one another nor with the files; nothing is taken."""


class PartitionNotConcrete(InputRejected):
    """The selection is for no model partition, or for one that is not written as it is named."""


def read_selection(
    data: bytes, *, source: str, config: Config, gate_ids: Collection[str]
) -> tuple[str, list[TargetInput]]:
    """Read and check a whole selection; return its partition and its targets in their order.

    :raises NotThisDocument, PartitionNotConcrete, BadTargets: it is none, by index and reason.
    """

    gate_ids = frozenset(gate_ids)

    def read(raw: msgspec.Raw) -> TargetInput:
        target = msgspec.json.decode(raw, type=TargetInput)
        target.note_path = _note_path(target.note_path, config)
        target.gate_path, target.gate_id = _gate(target, config)
        # A digest shows that the gate was there when it was selected: it is gone, not misspelt.
        if target.gate_id not in gate_ids and target.gate_sha256 is None:
            near = ", ".join(near_matches(target.gate_id, gate_ids))
            hint = f"; did you mean {near}?" if near else ""
            raise BadTargets(f"there is no gate {target.gate_id!r}{hint}")
        return target

    partition, targets = read_targets(data, read, source=source)
    return _concrete(partition, source=source, config=config), targets


def read_targets(
    data: bytes, read: Callable[[msgspec.Raw], _T], *, source: str
) -> tuple[str, list[_T]]:
    """Read a selection: its partition as it is written, and its targets as `read` takes them."""
    document = decode(data, SelectionInput, source=source)
    if document.schema != SELECTION_SCHEMA:
        raise NotThisDocument(
            f"{source}: schema {document.schema!r}, expected {SELECTION_SCHEMA!r}",
            hint="it is what commonplace review_target_selector --json prints",
        )
    if document.model_partition is None:
        raise PartitionNotConcrete(
            f"{source}: model_partition is null: a review is made for a model, and so is an ack",
            hint="select with --model PARTITION",
        )
    targets: list[_T] = []
    faults: list[str] = []
    for index, raw in enumerate(document.targets):
        try:
            targets.append(read(raw))
        except (InputRejected, msgspec.DecodeError, UnicodeDecodeError) as error:
            faults.append(f"targets[{index}]: {error}")
    if faults:
        more = len(faults) - _NAMED_FAULTS
        rest = f"; and {more} more" if more > 0 else ""
        named = "; ".join(faults[:_NAMED_FAULTS])
        raise BadTargets(f"{source}: {named}{rest}", hint="nothing was written; select again")
    return document.model_partition, targets


def _concrete(name: str, *, source: str, config: Config) -> str:
    try:
        canonical = config.canonical_partition(name)
    except ModelNameRefused as error:
        raise PartitionNotConcrete(f"{source}: model_partition: {error}") from error
    if canonical != name:
        raise PartitionNotConcrete(
            f"{source}: model_partition {name!r} is not the name of a partition",
            hint=f"it is called {canonical!r}: select with --model {canonical}",
        )
    return name


def _note_path(raw: str, config: Config) -> str:
    path = normalise_path(raw)
    if not path.endswith(".md"):
        raise BadTargets(f"note_path {raw!r} is no note: expected a .md file")
    below = path
    for root in config.note_roots:
        below = below.removeprefix(f"{root}/")
    file = PurePosixPath(config.root, path)
    is_ours = path.startswith(f"{REPORTS_FOLDER}/") or file.is_relative_to(config.artifacts)
    if is_ours or any(part.startswith(".") for part in below.split("/")):
        raise BadTargets(f"note_path {raw!r} is no note: hidden files and reports never are")
    return path


def _gate(item: TargetInput, config: Config) -> tuple[str, str]:
    gate_path, gate_id = normalise_path(item.gate_path), normalise_path(item.gate_id)
    own_id = config.gate_id(gate_path)
    if gate_id != own_id:
        raise BadTargets(
            f"gate_id {item.gate_id!r} is not the gate at {gate_path!r}, which is {own_id!r}"
        )
    return gate_path, gate_id
