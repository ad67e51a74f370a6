"""The files that mirror rows of the store for a reader: a pair's result and a job's manifest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

MANIFEST_SCHEMA = "review-job-manifest/1"


@dataclass(frozen=True)
class ManifestPair:
    """A pair in a manifest; `decision` and `result_path` are None until it is completed."""

    review_pair_id: int
    ordinal: int
    note_path: str
    gate_path: str
    gate_id: str
    note_sha256: str
    gate_sha256: str
    pair_status: str
    decision: str | None = None
    result_path: str | None = None


@dataclass(frozen=True)
class Manifest:
    """What `MANIFEST.json` says; `store_id` tells two stores with one folder apart."""

    store_id: str
    review_job_id: int
    status: str
    model_partition: str
    grouping: str
    lens: str
    prompt_path: str
    prompt_sha256: str
    bundle_output_path: str
    created_at: str
    replaces: int | None
    pairs: Sequence[ManifestPair]


@dataclass(frozen=True)
class ResultRecord:
    """What stands above a review's text in its result file; an absent value is None."""

    review_pair_id: int
    review_job_id: int
    note_path: str
    gate_path: str
    gate_id: str
    model_partition: str
    decision: str
    decision_source: str | None
    note_sha256: str
    gate_sha256: str
    reviewed_at: str
    runner: str | None
    runner_model: str | None
    runner_effort: str | None
    self_reported_model: str | None


def render_manifest(manifest: Manifest) -> str:
    """Give the manifest as JSON with one member, and one pair, a line; it ends in a newline."""
    members = {"schema": MANIFEST_SCHEMA} | vars(manifest)
    pairs = ",\n  ".join(_json(vars(pair)) for pair in manifest.pairs)
    lines = [f'"{name}": {_json(value)}' for name, value in members.items() if name != "pairs"]
    return "{\n " + ",\n ".join(lines) + ',\n "pairs": [\n  ' + pairs + "\n ]\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def render_result(record: ResultRecord, text: str) -> str:
    """Give a result file: frontmatter, an empty line, and the review's text as it is."""
    lines = ["---"]
    for name, value in vars(record).items():
        if name == "runner":
            lines.append("# dispatch-time provenance: what the parent said when it took the job")
        if name == "self_reported_model":
            lines.append("# a claim of the output itself, never provenance")
        lines.append(f"{name}: {_scalar(value)}")
    end = "" if text.endswith("\n") else "\n"
    return "\n".join([*lines, "---", "", text]) + end


def _scalar(value: str | int | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    # A JSON string is a YAML string, but YAML takes fewer characters raw.
    text = _json(value)
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
