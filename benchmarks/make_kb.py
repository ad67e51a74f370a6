"""Builds a deterministic knowledge base of realistic sizes, and a store in which all of it is fresh.

    python benchmarks/make_kb.py DEST --notes 10000 --gates 40 [--accepted PARTITION ...]

Notes have a log-normal size with a median of 6 kB. With `--accepted`, every (note, gate) pair gets
a completed review and a current acceptance (`bulk_store`); about 4 % of the pairs are decided `warn`
with one open finding each.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SEED = 20260131
MEDIAN_BYTES = 6000
LENSES = ("accessibility", "frontmatter", "prose", "semantic", "sentence", "structure")
_SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
)


@dataclass(frozen=True)
class KnowledgeBase:
    """The root-relative paths that were written, notes and gates apart, sorted."""

    root: Path
    notes: tuple[str, ...]
    gates: tuple[str, ...]


def make_files(root: Path, *, notes: int, gates: int) -> KnowledgeBase:
    """Write the notes and gates below `root/kb`; the same numbers give the same bytes."""
    rng = random.Random(SEED)  # noqa: S311
    vocabulary = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(4000)]
    note_paths = []
    for number in range(notes):
        path = f"kb/notes/area-{number // 250:03d}/note-{number:06d}.md"
        _write(root / path, _note(rng, vocabulary, number, notes))
        note_paths.append(path)
    gate_paths = []
    for number in range(gates):
        lens = LENSES[number % len(LENSES)]
        path = f"kb/instructions/review-gates/{lens}/gate-{number:03d}.md"
        _write(root / path, _gate(rng, vocabulary, lens, number))
        gate_paths.append(path)
    return KnowledgeBase(root, tuple(sorted(note_paths)), tuple(sorted(gate_paths)))


def find_files(root: Path) -> KnowledgeBase:
    """The base that `make_files` wrote below `root`."""
    found = [
        sorted(str(path.relative_to(root)) for path in (root / folder).rglob("*.md"))
        for folder in ("kb/notes", "kb/instructions/review-gates")
    ]
    return KnowledgeBase(root, *map(tuple, found))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _sentence(rng: random.Random, vocabulary: Sequence[str]) -> str:
    words = rng.choices(vocabulary, k=rng.randint(6, 22))
    return " ".join(words).capitalize() + "."


def _note(rng: random.Random, vocabulary: Sequence[str], number: int, notes: int) -> str:
    title = " ".join(rng.choices(vocabulary, k=4)).capitalize()
    size = min(int(rng.lognormvariate(0, 0.65) * MEDIAN_BYTES), 120_000)
    lines = [
        "---",
        "type: kb/types/note.md",
        f"title: {title} {number}",
        f"description: {_sentence(rng, vocabulary)}",
        f"status: {'current' if number % 4 else 'draft'}",
        "---",
        "",
        f"# {title} {number}",
        "",
    ]
    written = sum(len(line) + 1 for line in lines)
    while written < size:
        paragraph = " ".join(_sentence(rng, vocabulary) for _ in range(rng.randint(2, 6)))
        if rng.random() < 0.2:
            other = rng.randrange(notes)
            paragraph += f" See [this](../area-{other // 250:03d}/note-{other:06d}.md)."
        heading = [f"## {_sentence(rng, vocabulary)[:40]}", ""] if rng.random() < 0.15 else []
        block = [*heading, paragraph, ""]
        lines += block
        written += sum(len(line) + 1 for line in block)
    return "\n".join(lines)


def _gate(rng: random.Random, vocabulary: Sequence[str], lens: str, number: int) -> str:
    body = "\n\n".join(
        f"## {heading}\n\n{' '.join(_sentence(rng, vocabulary) for _ in range(4))}"
        for heading in ("Failure mode", "Test", "Example (fail)", "Example (pass)")
    )
    return (
        f"---\ntype: kb/types/review-gate.md\ngate_id: {lens}/gate-{number:03d}\n"
        f"name: Gate {number}\nlens: {lens}\nwatches: [title, body]\nstaleness: rewrite(0.3)\n"
        f"description: {_sentence(rng, vocabulary)}\n---\n\n{body}\n"
    )


def set_up_django(root: Path) -> None:
    """Point the application at `root` and make its store."""
    os.environ["COMMONPLACE_ROOT"] = str(root)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "commonplace_site.settings.cli")
    import django

    django.setup()
    from review import store

    store.ensure_store(write=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dest", type=Path)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--gates", type=int, default=40)
    parser.add_argument("--accepted", action="append", default=[], metavar="PARTITION")
    options = parser.parse_args(arguments)
    root = options.dest.resolve()
    if (root / "kb").exists():
        parser.error(f"{root} already holds a kb/ folder")
    base = make_files(root, notes=options.notes, gates=options.gates)
    if options.accepted:
        from benchmarks.bulk_store import Filling, accept_all

        set_up_django(root)
        accept_all(base, *map(Filling, options.accepted))
    print(
        f"{len(base.notes)} notes, {len(base.gates)} gates, accepted: {options.accepted or 'none'}"
    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
