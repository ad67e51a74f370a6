"""Checks of the files of jobs against the rows they mirror."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from review.domain.paths import sha256_hex
from review.job_files import ArtifactNotWritten, ArtifactStore, OutputNotReadable
from review.jobs.mirror import load_job_files, rewrite_job_files
from review.jobs.prompts import render_job_prompt
from review.knowledge_base import Corpus
from review.models import JobEvent, ReviewJob, ReviewStore, batched
from review.settings.config import Config
from review.upkeep.checks import CheckResult, CheckState, check_faults
from review.vocabulary import OPEN_JOB_STATUSES, JobNote

_JOB_FOLDER = re.compile(r"review-job-([0-9]+)", re.ASCII)
_JOBS_AT_ONCE = 25
_ASIDE = "were set aside and can be deleted"
_UNCOMMITTED = "of jobs that were not made in the end: the next of that id moves it aside"
_SET_ASIDE = re.compile(r"\.aside-[0-9]+$|^\..*\.tmp$")


def check_prompts(config: Config, *, repair: bool) -> CheckResult:
    """Check that each open job has the prompt that it was made with, for its worker to read.

    One that is missing or altered is written again where the store and the notes still make it.
    """
    lost: list[str] = []
    restorable: list[str] = []
    files, corpus = ArtifactStore(config), Corpus(config)
    jobs = ReviewJob.objects.open()
    for job in jobs.order_by("pk").iterator():
        data = _read_job_file(files, job.prompt_path)
        if data is not None and sha256_hex(data) == job.prompt_sha256:
            continue
        made = render_job_prompt(job, linker=corpus.linker, config=config)
        can = made is not None and (not repair or _written(files, job.prompt_path, made))
        wrong = "is missing" if data is None else "was altered"
        (restorable if can else lost).append(f"job {job.pk}: {job.prompt_path} {wrong}")
    without = "open jobs without the prompt they were made with;"
    if lost:
        replace = "commonplace recover_review_jobs --action replace makes new ones"
        return check_faults("prompts", lost, fine="", wrong=f"{without} {replace}")
    return check_faults(
        "prompts",
        restorable,
        fine=f"{jobs.count()} open jobs have their prompts",
        wrong="prompts of open jobs were written again"
        if repair
        else f"{without} --repair writes it again",
        state=CheckState.REPAIRED if repair else CheckState.REPAIRABLE,
    )


def check_result_files(config: Config, *, repair: bool) -> CheckResult:
    """Compare result files and manifests with the rows, from which they can be written again."""
    name, files, wrong, lasting, number = "job-files", ArtifactStore(config), [], [], 0
    for job_id, differing in _differing_jobs(files, config):
        number += 1
        if repair and differing:
            failures = rewrite_job_files(job_id, config=config)
            lasting += [f"job {job_id}: {failure}" for failure in failures]
        for path, how in differing.items():
            fault = f"job {job_id}: {path} {how}"
            if files.is_out_of_reach(path):
                lasting.append(f"{fault}: a link on its way leads out; remove it")
            else:
                wrong.append(fault)
    if lasting:
        return check_faults(name, lasting, fine="", wrong="files of jobs cannot be written again")
    if repair and wrong:
        return CheckResult(name, CheckState.REPAIRED, f"{len(wrong)} files were written again")
    return check_faults(
        name,
        wrong,
        fine=f"the files of {number} jobs mirror the store",
        wrong="files of jobs are missing or differ; --repair writes them again",
        state=CheckState.REPAIRABLE,
    )


def check_folders(config: Config) -> CheckResult:
    """Check that each folder of a job belongs to a job of this store."""
    files, faults = ArtifactStore(config), []
    names = files.folders()
    store = ReviewStore.objects.get(pk=1)
    known = set(ReviewJob.objects.values_list("pk", flat=True))
    left = {_ASIDE: 0, _UNCOMMITTED: 0}
    others: set[str] = set()
    for name in names:
        owner, found = files.owner(name), _JOB_FOLDER.fullmatch(name)
        number = int(found[1]) if found else 0
        if _SET_ASIDE.search(name):
            left[_ASIDE] += 1
        elif owner == store.store_id and number >= store.next_job_id:
            left[_UNCOMMITTED] += 1
        elif not number:
            faults.append(f"{name}: not the name of a job's folder")
        elif owner not in ("", store.store_id):
            others.add(owner)
            faults.append(
                f"{name}: of another store ({owner}); where both are used, give each one"
                " COMMONPLACE_REVIEW_ARTIFACTS of its own"
            )
        elif number not in known:
            faults.append(f"{name}: this store has no such job")
    also = "".join(f"; {count} {what}" for what, count in left.items() if count)
    advice = "look into them, then delete them"
    if others:  # the folders of a lost store may be all that is left of it
        advice = (
            f"delete none of the store {', '.join(sorted(others))} before that store is found: see"
            " where COMMONPLACE_REVIEW_DB points, and look for a copy; what it held may be nowhere"
            " else"
        )
    return check_faults(
        "job-folders",
        faults,
        fine=f"{len(names)} folders, all of this store's jobs{also}",
        wrong=f"folders that no job of this store knows; {advice}{also}",
    )


def _differing_jobs(files: ArtifactStore, config: Config) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each job whose files are kept, with how which of them differ."""
    pruned = JobEvent.objects.filter(note=JobNote.PRUNED)
    jobs = ReviewJob.objects.exclude(pk__in=pruned.values("job_id")).order_by("pk")
    rows = jobs.values_list("pk", flat=True).iterator(chunk_size=1000)
    for job_ids in batched(rows, _JOBS_AT_ONCE):
        for kept in load_job_files(job_ids, config=config):
            yield kept.job.pk, dict(_wrong_files(kept.job, kept.documents(), files))


def _wrong_files(
    job: ReviewJob, documents: Iterator[tuple[str, str]], files: ArtifactStore
) -> Iterator[tuple[str, str]]:
    is_open = job.status in OPEN_JOB_STATUSES
    for path, text in documents:
        data = _read_job_file(files, path)
        if data is None:
            yield path, "is missing"
        elif data != text.encode("utf-8", "replace") and not (is_open and _names(data, job.pk)):
            yield path, "differs"


def _names(manifest: bytes, job_id: int) -> bool:
    """Return whether it is an earlier manifest of the job: a claim does not write it again."""
    try:
        document: Any = json.loads(manifest)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("review_job_id") == job_id


def _read_job_file(files: ArtifactStore, path: str) -> bytes | None:
    """Return the bytes of a file of a job; None where it cannot be read."""
    try:
        return files.read_output(path) if path else None
    except OutputNotReadable:
        return None


def _written(files: ArtifactStore, path: str, data: bytes) -> bool:
    try:
        files.write_bytes(path, data)
    except ArtifactNotWritten:
        return False
    return True
