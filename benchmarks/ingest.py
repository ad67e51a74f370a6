"""Time `ingest_bundle_output --ready` of two checkouts on the same reviews, side by side.

    python -m benchmarks.ingest REVIEWS.jsonl --other CHECKOUT [--notes 338] [--gates 54]

Each line of the file is an object with the `text` of a review; the pairs take the texts in turn, as
they are. Both checkouts run with this interpreter, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.make_kb import make_files
from benchmarks.measure import PROJECT, run_once
from review.protocol.sentinels import end_line, start_line

_MODEL = "reader-1"
_TOKEN = re.compile("([0-9a-f]{8})/1: kb/")


def main() -> None:
    """Lay a base for each checkout, ingest, and print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--other", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--notes", type=int, default=338)
    parser.add_argument("--gates", type=int, default=54)
    options = parser.parse_args()
    rows = options.reviews.read_text(encoding="utf-8").splitlines()
    texts = [json.loads(row)["text"] for row in rows]
    cpu = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, checkout in (("this", PROJECT), ("other", options.other.resolve())):
            root = Path(folder) / name
            make_files(root, notes=options.notes, gates=options.gates)
            cpu[name], pairs = _ingest(checkout, root, texts)
            print(f"{name}: {pairs} pairs, {cpu[name]:.1f} s of processor time", flush=True)
    print(f"this / other: {cpu['this'] / cpu['other']:.2f}")


def _ingest(checkout: Path, root: Path, texts: list[str]) -> tuple[float, int]:
    command = [sys.executable, str(checkout / "manage.py")]
    env = {"COMMONPLACE_ROOT": str(root), "PYTHONPATH": str(checkout)}
    create = ["create_review_jobs", "--input", "-", "--grouping", "note", "--json"]
    select = ["review_target_selector", "--all-gates", "--model", _MODEL, "--json"]
    selected = _output([*command, *select], env)
    jobs = json.loads(_output([*command, *create], env, selected))["jobs"]
    dealt = cycle(texts)
    pairs = 0
    for job in jobs:
        prompt = (root / job["prompt_path"]).read_text(encoding="utf-8")
        token = _TOKEN.findall(prompt)[-1]
        blocks = [_block(pair, token, next(dealt)) for pair in job["pairs"]]
        (root / job["bundle_output_path"]).write_text("\n".join(blocks), encoding="utf-8")
        pairs += len(blocks)
    ingest = [*command, "ingest_bundle_output", "--ready", "--all-actors", "--quiet"]
    run = run_once(ingest, env=env, cwd=root, expected=(0,))
    listed = json.loads(_output([*command, "review_job_list", "--json"], env))["jobs"]
    if unfinished := [job["review_job_id"] for job in listed if job["status"] != "completed"]:
        sys.exit(f"{checkout}: {len(unfinished)} jobs were not completed")
    return run.cpu, pairs


def _block(pair: dict[str, Any], token: str, text: str) -> str:
    names = (token, pair["ordinal"], pair["note_path"], pair["gate_id"])
    return f"{start_line(*names)}\n{text.rstrip()}\n{end_line(*names)}\n"


def _output(command: list[str], env: dict[str, str], given: bytes | None = None) -> bytes:
    done = subprocess.run(
        command, env={**os.environ, **env}, input=given, capture_output=True, check=False
    )
    if done.returncode not in (0, 3):
        sys.exit(done.stderr.decode())
    return done.stdout


if __name__ == "__main__":
    main()
