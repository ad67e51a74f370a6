"""Names the model partition of a concrete model and effort."""

from __future__ import annotations

import re
from collections.abc import Mapping

from review.errors import InputRejected

EFFORT_SEPARATOR = "@"
MAX_PARTITION_LENGTH = 200

_CONTEXT = re.compile(r"\[[^\[\]]*\]\s*$")
_DASHED = re.compile(r"[\s._:-]+")
_DATE = re.compile(
    r"(?:^|-)(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))$"
)
_NAME = re.compile(r"[a-z0-9+]+(?:-[a-z0-9+]+)*")
_EXPECTED = "expected letters, digits and + with . _ : - / or spaces between them"


class ModelNameRefused(InputRejected): ...


def build_model_partition(
    model: str, effort: str | None = None, *, aliases: Mapping[str, str] | None = None
) -> str:
    """Name the partition of `model`, with `@effort` when one is given; idempotent.

    `aliases` maps model names, with or without an effort, to the partition they count as; an
    effort that the alias does not name is kept behind the partition.
    """
    name, own_effort = _parts(model)
    given = None if effort is None else _slug(effort, shown=effort, what="effort")
    partition = _joined(name, _one_effort(own_effort, given, model))
    if not aliases:
        return partition
    known = {_joined(*_parts(alias)): _joined(*_parts(to)) for alias, to in aliases.items()}
    for _ in range(len(known) + 1):
        following = _aliased(partition, known, model)
        if following == partition:
            return partition
        partition = following
    raise ModelNameRefused(f"the aliases of {model!r} lead in a circle")


def model_part(partition: str) -> str:
    return partition.partition(EFFORT_SEPARATOR)[0]


def effort_part(partition: str) -> str | None:
    return partition.partition(EFFORT_SEPARATOR)[2] or None


def _aliased(partition: str, known: Mapping[str, str], model: str) -> str:
    if partition in known:
        return known[partition]
    name, effort = model_part(partition), effort_part(partition)
    if name not in known:
        return partition
    to = known[name]
    return _joined(model_part(to), _one_effort(effort_part(to), effort, model))


def _parts(model: str) -> tuple[str, str | None]:
    """Split what a name says: the model's slug and the effort behind `@`, if any."""
    first, *rest = model.split(EFFORT_SEPARATOR)
    efforts = [part for part in rest if not _DATE.fullmatch(part.strip())]
    if len(efforts) > 1:
        raise ModelNameRefused(f"model {_short(model)} names more than one effort behind '@'")
    name = _slug(first, shown=model, what="model")
    return name, _slug(efforts[0], shown=model, what="effort") if efforts else None


def _slug(raw: str, *, shown: str, what: str) -> str:
    """Fold spelling: case, provider prefixes, context suffixes, dates, separators."""
    if len(raw) > MAX_PARTITION_LENGTH:
        raise ModelNameRefused(f"{what} {_short(shown)} is longer than {MAX_PARTITION_LENGTH}")
    rest = raw.strip().lower()
    before = None
    while rest != before:
        before = rest
        rest = _CONTEXT.sub("", rest.rpartition("/")[2].strip())
        rest = _DATE.sub("", _DASHED.sub("-", rest).strip("-"))
    # Lower-casing turns a Kelvin sign into a plain k.
    if not rest or not raw.isascii() or not _NAME.fullmatch(rest):
        fault = "has other characters" if rest else "leaves no name"
        raise ModelNameRefused(f"{what} {_short(shown)} {fault}; {_EXPECTED}")
    return rest


def _one_effort(first: str | None, second: str | None, model: str) -> str | None:
    if first and second and first != second:
        raise ModelNameRefused(f"{_short(model)} has the effort {first!r}, but {second!r} is given")
    return first or second


def _joined(name: str, effort: str | None) -> str:
    partition = name if effort is None else f"{name}{EFFORT_SEPARATOR}{effort}"
    if len(partition) > MAX_PARTITION_LENGTH:
        raise ModelNameRefused(
            f"partition {_short(partition)} is longer than {MAX_PARTITION_LENGTH}"
        )
    return partition


def _short(name: str) -> str:
    return repr(name if len(name) <= MAX_PARTITION_LENGTH else name[:MAX_PARTITION_LENGTH] + "…")
