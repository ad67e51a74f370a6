"""A worker that knows nothing but its job's prompt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

WARN = "### Findings\n- WARN: the claim has no source\n\n## Result: WARN"
_PAIR = re.compile(r"^(?P<names>(?P<token>[0-9a-f]{8})/\d+: .+ :: .+)$", re.M)


def write_worker_output(root: Path, job: Any, review: str = WARN) -> None:
    """Answer every pair that the prompt of a job (as a command shows it) requests, with one review."""
    prompt = (root / job["prompt_path"]).read_text(encoding="utf-8")
    blocks = [
        f"=== PAIR REVIEW START {match['names']} ===\n{review}\n=== PAIR REVIEW END {match['names']} ===\n"
        for match in _PAIR.finditer(prompt)
    ]
    assert len(blocks) == job["pair_count"], "the prompt requests its pairs one a line"
    (root / job["bundle_output_path"]).write_text("\n".join(blocks), encoding="utf-8")
