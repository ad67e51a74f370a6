"""Names of job folders and of the files in them."""

from __future__ import annotations

from review.domain.paths import slug
from review.settings.config import Config

PROMPT_NAME = "prompt.md"
OUTPUT_NAME = "bundle-output.md"
MANIFEST_NAME = "MANIFEST.json"


def job_folder(config: Config, job_id: int) -> str:
    """The folder of a job that is about to be made: root-relative when below the root."""
    base = config.artifacts
    if base.is_relative_to(config.root):
        base = base.relative_to(config.root)
    return f"{base.as_posix()}/{folder_name(job_id)}"


def folder_name(job_id: int) -> str:
    return f"review-job-{job_id}"


def manifest_path(prompt_path: str) -> str:
    return f"{prompt_path.rpartition('/')[0]}/{MANIFEST_NAME}"


def result_name(ordinal: int, note_path: str, gate_id: str) -> str:
    """`pair-<ordinal>-<slug>.md`: at most 110 bytes, whatever the note and the gate are called."""
    stem = note_path.rpartition("/")[2].removesuffix(".md")
    return f"pair-{ordinal}-{slug('.'.join((stem, *gate_id.split('/'))))}.md"
