"""Measures the prompts of a whole base: bytes a pair, and what a provider's prompt cache can serve.

    python -m benchmarks.prompts [--notes 338] [--gates 54]

A cached byte is one of the longest prefix that a prompt shares with an earlier one of the same gates
(or, for the first of its gates, with the prompt before it); it counts a tenth.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.make_kb import make_files
from benchmarks.measure import commonplace, run_once
from benchmarks.table import line, title

CACHED_SHARE = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notes", type=int, default=338)
    parser.add_argument("--gates", type=int, default=54)
    options = parser.parse_args()
    for name, flags in (("by lens", ()), ("across lenses", ("--across-lenses",))):
        with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
            base = make_files(Path(folder), notes=options.notes, gates=options.gates)
            report(name, list(prompts(base.root, flags)), pairs=options.notes * options.gates)


def prompts(root: Path, flags: Iterable[str]) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """The gates and the prompt of each job, in the order of the jobs."""
    env = {"COMMONPLACE_ROOT": str(root)}
    selection, made = root / "selection.json", root / "made.json"
    selector = commonplace("review_target_selector", "--all-gates", "--model", "m", "--json")
    run_once(selector, env=env, cwd=root, output=selection)
    create = (
        "create_review_jobs",
        "--input",
        str(selection),
        "--grouping",
        "note",
        *flags,
        "--json",
    )
    run_once(commonplace(*create), env=env, cwd=root, output=made)
    for job in json.loads(made.read_bytes())["jobs"]:
        gates = tuple(pair["gate_id"] for pair in job["pairs"])
        yield gates, (root / job["prompt_path"]).read_bytes()


def shared(one: bytes, other: bytes) -> int:
    """The length of the prefix that both have."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def report(name: str, found: list[tuple[tuple[str, ...], bytes]], *, pairs: int) -> None:
    total, cached = 0, 0
    earlier: dict[tuple[str, ...], bytes] = {}
    before = b""
    for gates, prompt in found:
        total += len(prompt)
        cached += shared(prompt, earlier.get(gates, before))
        before = earlier[gates] = prompt
    title(f"prompts {name}")
    line("jobs", f"{len(found):,}")
    line("bytes a pair", f"{total / pairs:,.0f}")
    line("of these in a shared prefix", f"{cached / pairs:,.0f}")
    line(
        "uncached-equivalent bytes a pair", f"{(total - (1 - CACHED_SHARE) * cached) / pairs:,.0f}"
    )


if __name__ == "__main__":
    main()
