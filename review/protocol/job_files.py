"""The files that mirror rows of the store for a reader: a pair's result and a job's manifest."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict

_PROVENANCE = "# dispatch-time provenance: what the parent said when it took the job"
_CLAIM = "# a claim of the output itself, never provenance"
_json = json.JSONEncoder(ensure_ascii=False).encode


class ManifestPair(msgspec.Struct, frozen=True):
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


class Manifest(msgspec.Struct, frozen=True):
    """The content of `MANIFEST.json`; `store_id` distinguishes two stores that share a folder."""

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


class ResultRecord(msgspec.Struct, frozen=True):
    """The header of a review's result file; an absent value is None."""

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
    """Return the manifest as JSON with one member, and one pair, a line; it ends in a newline."""
    members = {"schema": "review-job-manifest/1"} | asdict(manifest)
    pairs = ",\n  ".join(_json(asdict(pair)) for pair in members.pop("pairs"))
    lines = [f'"{name}": {_json(value)}' for name, value in members.items()]
    return "{\n " + ",\n ".join(lines) + ',\n "pairs": [\n  ' + pairs + "\n ]\n}\n"


def render_result(record: ResultRecord, text: str) -> str:
    """Return a result file: frontmatter, an empty line, and the review's text as it is."""
    lines = [f"{name}: {_scalar(value)}" for name, value in asdict(record).items()]
    lines.insert(-1, _CLAIM)
    lines.insert(-5, _PROVENANCE)
    end = "" if text.endswith("\n") else "\n"
    return "\n".join(["---", *lines, "---", "", text]) + end


def _scalar(value: str | int | None) -> str:
    """Return a YAML scalar: one of JSON, without the characters that only JSON takes raw."""
    text = _json(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in text)
