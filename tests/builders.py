"""Small knowledge bases for tests: notes and gates on disk, with overrides for what a test is about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from review.conf import Config

GATES_FOLDER = "kb/instructions/review-gates"
NOTE = "# Retrieval basics\n\nA reader finds a note by its title, then by its links.\n"
TYPED_NOTE = "---\ntype: kb/types/concept.md\nstatus: current\ntraits: [cited]\n---\n" + NOTE


def make_root(
    folder: Path,
    *,
    notes: Mapping[str, str | bytes] | None = None,
    gates: Mapping[str, str | bytes] | None = None,
    settings: str = "",
) -> Path:
    """Write a knowledge base into `folder` and give `folder`.

    :param notes: path to text; a path without a slash is below `kb/notes/`. Default: one note `a.md`.
    :param gates: gate id (or path) to the gate's body or whole text. Default: one gate `prose/x`.
    :param settings: the text of `kb/review.toml`; empty for none.
    """
    (folder / "kb" / "notes").mkdir(parents=True, exist_ok=True)
    for path, text in ({"a.md": NOTE} if notes is None else notes).items():
        write_note(folder, path, text)
    for gate_id, text in ({"prose/x": make_gate("prose/x")} if gates is None else gates).items():
        write_gate(folder, gate_id, text)
    if settings:
        (folder / "kb" / "review.toml").write_text(settings, encoding="utf-8")
    return folder


def make_config(root: Path, **overrides: Any) -> Config:
    """The configuration of a knowledge base at `root` without settings of its own."""
    fields = {
        "root": root,
        "database": str(root / "kb" / "reports" / "review-store.sqlite"),
        "artifacts": root / "kb" / "reports" / "bundle-reviews",
        "actor": "human:test",
    }
    return Config(**fields | overrides)


def make_gate(gate_id: str = "prose/x", *, body: str = "", **fields: str) -> str:
    """The text of a gate; `fields` are frontmatter lines as YAML, such as `watches="[body]"`."""
    name = gate_id.rpartition("/")[2]
    lines = {
        "type": "kb/types/review-gate.md",
        "gate_id": gate_id,
        "name": name,
        "lens": gate_id.partition("/")[0],
        "description": f"Asks one thing of a note, named {name}.",
    } | fields
    frontmatter = "".join(f"{key}: {value}\n" for key, value in lines.items())
    test = body or f"A finding is a line that fails {gate_id}. Quote it.\n"
    return f"---\n{frontmatter}---\n\n# {name}\n\n## Test\n\n{test}"


def note_path(name: str) -> str:
    """The root-relative path of a note given as in `make_root`."""
    return name if "/" in name else f"kb/notes/{name}"


def gate_path(gate_id: str) -> str:
    """The root-relative path of a gate given as in `make_root`."""
    return gate_id if gate_id.startswith("kb/") else f"{GATES_FOLDER}/{gate_id}.md"


def write_note(root: Path, name: str, text: str | bytes = NOTE) -> Path:
    """Write (or rewrite) a note, byte for byte."""
    return _write(root / note_path(name), text)


def write_gate(root: Path, gate_id: str, text: str | bytes | None = None) -> Path:
    """Write (or rewrite) a gate; without a text, a plain one."""
    return _write(root / gate_path(gate_id), make_gate(gate_id) if text is None else text)


def _write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
