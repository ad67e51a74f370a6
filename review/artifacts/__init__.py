"""The one door to job files: prompts, outputs, results and manifests, each whole or not there."""

from __future__ import annotations

from review.artifacts.fix_record import FixRecord
from review.artifacts.job_files import MAX_OUTPUT_BYTES, ArtifactStore
from review.artifacts.naming import JobPaths, folder_name, job_paths, manifest_path, result_name
from review.artifacts.refusals import ArtifactNotWritten, ForeignJobFolder, OutputNotReadable

__all__ = [
    "MAX_OUTPUT_BYTES",
    "ArtifactNotWritten",
    "ArtifactStore",
    "FixRecord",
    "ForeignJobFolder",
    "JobPaths",
    "OutputNotReadable",
    "folder_name",
    "job_paths",
    "manifest_path",
    "result_name",
]
