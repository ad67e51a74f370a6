"""Names of job folders and of the files in them."""

from __future__ import annotations

from dataclasses import dataclass

from review.domain.paths import slug
from review.settings.config import Config

PROMPT_NAME = "prompt.md"
OUTPUT_NAME = "bundle-output.md"
MANIFEST_NAME = "MANIFEST.json"


@dataclass(frozen=True)
class JobPaths:
    """The paths of a job's files: root-relative POSIX when below the root, else absolute."""

    folder: str
    prompt: str
    bundle_output: str
    manifest: str


def job_paths(config: Config, job_id: int) -> JobPaths:
    """The paths of a job that is about to be made; one that exists has its own in its row."""
    try:
        base = config.artifacts.relative_to(config.root)
    except ValueError:
        base = config.artifacts
    folder = f"{base.as_posix()}/{folder_name(job_id)}"
    return JobPaths(
        folder, f"{folder}/{PROMPT_NAME}", f"{folder}/{OUTPUT_NAME}", f"{folder}/{MANIFEST_NAME}"
    )


def folder_name(job_id: int) -> str:
    return f"review-job-{job_id}"


def manifest_path(prompt_path: str) -> str:
    return f"{prompt_path.rpartition('/')[0]}/{MANIFEST_NAME}"


def result_name(ordinal: int, note_path: str, gate_id: str) -> str:
    """`pair-<ordinal>-<slug>.md`: at most 110 bytes, whatever the note and the gate are called."""
    stem = note_path.rpartition("/")[2].removesuffix(".md")
    return f"pair-{ordinal}-{slug('.'.join((stem, *gate_id.split('/'))))}.md"
