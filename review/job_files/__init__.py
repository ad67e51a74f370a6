"""The one door to job files: prompts, outputs, results and manifests, each whole or not there."""

from __future__ import annotations

from review.job_files.atomic_write import (
    ArtifactNotWritten,
    FixRecord,
    ForeignJobFolder,
    OutputNotReadable,
)
from review.job_files.naming import folder_name, job_folder, manifest_path, result_name
from review.job_files.store import MAX_OUTPUT_BYTES, ArtifactStore

__all__ = [
    "MAX_OUTPUT_BYTES",
    "ArtifactNotWritten",
    "ArtifactStore",
    "FixRecord",
    "ForeignJobFolder",
    "OutputNotReadable",
    "folder_name",
    "job_folder",
    "manifest_path",
    "result_name",
]
