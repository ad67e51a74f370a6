"""Decides whether a gate applies to a note, from the type and traits in the note's frontmatter."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class NoteKind:
    """What a note says it is; `type_path` as `resolve_type` gives it, `""` for none.

    `readable` is false when the frontmatter could not be read, so that nothing is known.
    """

    type_path: str
    traits: frozenset[str]
    readable: bool


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a gate asks of a note: any of `types` (resolved) and all of `traits`."""

    types: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()


def resolve_type(raw: str, *, note_path: str) -> str:
    """Give the root-relative path of a type's file, or the bare name as it stands.

    `./` and `../` start at the folder of `note_path`; any other path starts at the root. One that
    climbs out of the root stays as written and equals no path.
    """
    written = unicodedata.normalize("NFC", raw).strip()
    if "/" not in written:
        return written
    base = note_path.split("/")[:-1] if written.startswith(("./", "../")) else []
    parts: list[str] = []
    for part in [*base, *written.split("/")]:
        if part == ".." and not parts:
            return written
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    path = "/".join(parts)
    return path if path.endswith(".md") or not path else f"{path}.md"


def with_folder_type(
    kind: NoteKind, *, note_path: str, folder_types: Mapping[str, str]
) -> NoteKind:
    """Give a note that names no type that of the nearest folder around it that has one."""
    if kind.type_path or not kind.readable:
        return kind
    folder = note_path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in folder_types:
            return replace(kind, type_path=resolve_type(folder_types[folder], note_path=""))
    return kind


def applies(requirement: Requirement, kind: NoteKind) -> bool:
    """Say whether the gate applies; one that requires nothing applies to unreadable notes too.

    Types compare as paths; where either side is a bare name, by the stem.
    """
    if not requirement.types and not requirement.traits:
        return True
    if not kind.readable or not kind.traits.issuperset(requirement.traits):
        return False
    return not requirement.types or any(
        _same_type(required, kind.type_path) for required in requirement.types
    )


def _same_type(required: str, found: str) -> bool:
    if not required or not found:
        return False
    if "/" in required and "/" in found:
        return required == found
    return _stem(required) == _stem(found)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".md")
