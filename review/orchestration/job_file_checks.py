"""Holds the files of jobs against the rows they mirror."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from review.artifacts import ArtifactStore, OutputNotReadable
from review.conf import Config
from review.domain.identity import sha256_hex
from review.models import JobEvent, ReviewJob, ReviewStore, batched
from review.orchestration.mirroring import mirror_job, mirrored_documents
from review.orchestration.prompt_repair import PromptMaker
from review.orchestration.review_text_checks import belied_texts
from review.queries.checks import Check, CheckState, Faults
from review.vocabulary import OPEN_JOB_STATUSES, JobNote

_JOB_FOLDER = re.compile(r"review-job-([0-9]+)", re.ASCII)
_JOBS_AT_ONCE = 25
_FOLDERS_AT_ONCE = 500
# A folder may be called anything; no key is above this one.
_HIGHEST_KEY = (1 << 63) - 1
_LASTING = (
    "files of jobs cannot be written again; where a review is unlike its copies, find out which is right:"
    " once the others are removed, --repair writes what the store says"
)
_SET_ASIDE = re.compile(r"\.aside-[0-9]+$|^\..*\.tmp$")


@dataclass(frozen=True)
class _WrongFile:
    """A file of a job that does not say what its rows say."""

    path: str
    is_missing: bool

    def __str__(self) -> str:
        return f"{self.path} {'is missing' if self.is_missing else 'differs'}"

    @property
    def folder(self) -> str:
        """Where it lies."""
        return self.path.rpartition("/")[0]


def check_prompts(config: Config, *, repair: bool) -> Check:
    """Each open job has the prompt that it was made with, for its worker to read.

    One that is missing or altered is written again where the store and the notes still make it.
    """
    lost, made, looked_at = Faults(), Faults(), 0
    files, maker = ArtifactStore(config), PromptMaker(config)
    for job in ReviewJob.objects.open().order_by("pk").iterator(chunk_size=500):
        looked_at += 1
        wrong = _wrong_prompt(files, job)
        if not wrong:
            continue
        can = maker.write(job) if repair else maker.again(job) is not None
        (made if can else lost).add(f"job {job.pk}: {job.prompt_path} {wrong}")
    if lost.number or not made.number:
        return lost.check(
            "prompts",
            fine=f"{looked_at} open jobs have their prompts",
            wrong="open jobs without the prompt they were made with;"
            " commonplace recover_review_jobs --action replace makes new ones",
        )
    return made.check(
        "prompts",
        fine="",
        wrong="prompts of open jobs were written again"
        if repair
        else "open jobs without the prompt they were made with; --repair writes it again",
        state=CheckState.REPAIRED if repair else CheckState.REPAIRABLE,
    )


def _wrong_prompt(files: ArtifactStore, job: ReviewJob) -> str:
    data = _read(files, job.prompt_path)
    if data is None:
        return "is missing"
    return "" if sha256_hex(data) == job.prompt_sha256 else "was altered"


def check_result_files(config: Config, *, repair: bool) -> Check:
    """Result files and manifests say what the rows say, and can be written again.

    But not the result file of a review that its copies belie: it is a witness, or would hide one.
    """
    files, wrong, lasting = ArtifactStore(config), Faults(), Faults()
    for job_id, differing, belied in _differing_jobs(files, config):
        wrong.looked_at += 1
        if not differing:
            continue
        for key, copies in belied.items():
            lasting.add(f"job {job_id}: pair {key} is unlike {copies}: left as they are")
        still = mirror_job(job_id, config=config, leaving=belied) if repair else ()
        for detail in still:
            lasting.add(f"job {job_id}: {detail}")
        # A repair has said itself what it could not write.
        lost = set() if repair else _out_of_reach(files, differing)
        for file in differing:
            out = file.path in lost
            told = f"{file}: a link on its way leads out; remove it" if out else str(file)
            (lasting if out else wrong).add(f"job {job_id}: {told}")
    if lasting.number:
        return lasting.check("job-files", fine="", wrong=_LASTING)
    if repair and wrong.number:
        return Check("job-files", CheckState.REPAIRED, f"{wrong.number} files were written again")
    return wrong.check(
        "job-files",
        fine=f"the files of {wrong.looked_at} jobs mirror the store",
        wrong="files of jobs are missing or differ; --repair writes them again",
        state=CheckState.REPAIRABLE,
    )


def check_folders(config: Config) -> Check:
    """Each folder of a job belongs to a job of this store."""
    files, faults, aside, unborn = ArtifactStore(config), Faults(), 0, 0
    others: set[str] = set()
    row = ReviewStore.objects.get(pk=1)
    for name, owner, is_known in _folders(files):
        faults.looked_at += 1
        if _SET_ASIDE.search(name):
            aside += 1
        elif owner == row.store_id and _number(name) >= row.next_job_id:
            unborn += 1
        elif why := _stranger(name, owner, row.store_id, is_known=is_known):
            faults.add(f"{name}: {why}")
            others |= {owner} - {"", row.store_id}
    left = f"; {aside} were set aside and can be deleted" if aside else ""
    if unborn:
        left += (
            f"; {unborn} of jobs that were not made in the end: the next of that id moves it aside"
        )
    return faults.check(
        "job-folders",
        fine=f"{faults.looked_at} folders, all of this store's jobs{left}",
        wrong=f"folders that no job of this store knows; {_advice(sorted(others))}{left}",
    )


def _folders(files: ArtifactStore) -> Iterator[tuple[str, str, bool]]:
    """Each folder with the store that it names, and whether this store has its job."""
    for names in batched(files.folders(), _FOLDERS_AT_ONCE):
        numbers = {number for number in map(_number, names) if number <= _HIGHEST_KEY}
        known = set(ReviewJob.objects.filter(pk__in=numbers).values_list("pk", flat=True))
        for name in names:
            yield name, files.owner(name), _number(name) in known


def _advice(others: list[str]) -> str:
    """What to do about them: those of a store that was lost may be all that is left of it."""
    if not others:
        return "look into them, then delete them"
    return (
        f"delete none of the store {', '.join(others)} before that store is found: see where"
        " COMMONPLACE_REVIEW_DB points, and look for a copy; what it held may be nowhere else"
    )


def _number(name: str) -> int:
    found = _JOB_FOLDER.fullmatch(name)
    return int(found[1]) if found else 0


def _jobs() -> Iterator[tuple[int, bool]]:
    """Jobs whose files are kept, with whether they are open."""
    pruned = JobEvent.objects.filter(note=JobNote.PRUNED)
    jobs = ReviewJob.objects.exclude(pk__in=pruned.values("job_id")).order_by("pk")
    for job_id, status in jobs.values_list("pk", "status").iterator(chunk_size=1000):
        yield job_id, status in OPEN_JOB_STATUSES


def _differing_jobs(
    files: ArtifactStore, config: Config
) -> Iterator[tuple[int, list[_WrongFile], dict[int, str]]]:
    """Each job with its files that are wrong, and with the reviews that their copies belie; a few
    dozen are read together."""
    store_id, jobs = ReviewStore.objects.identity(), _jobs()
    while some := dict(islice(jobs, _JOBS_AT_ONCE)):
        found = {
            job_id: list(_wrong_files(job_id, documents, files, is_open=some[job_id]))
            for job_id, documents in mirrored_documents(
                list(some), config=config, store_id=store_id
            )
        }
        there = {
            job_id: {file.path for file in wrong if not file.is_missing}
            for job_id, wrong in found.items()
            if wrong
        }
        belied = belied_texts(there, config=config)
        for job_id, wrong in found.items():
            yield job_id, wrong, belied.get(job_id, {})


def _wrong_files(
    job_id: int, documents: Iterator[tuple[str, str]], files: ArtifactStore, *, is_open: bool
) -> Iterator[_WrongFile]:
    for path, text in documents:
        data = _read(files, path)
        if data is None:
            yield _WrongFile(path, is_missing=True)
        elif data != text.encode("utf-8", "replace") and not (is_open and _names(data, job_id)):
            yield _WrongFile(path, is_missing=False)


def _out_of_reach(files: ArtifactStore, wrong: list[_WrongFile]) -> set[str]:
    """Those that nothing is written to, as their folder is a link that leads out."""
    reach = {file.folder: file.path for file in wrong}
    out = {folder for folder, path in reach.items() if files.is_out_of_reach(path)}
    return {file.path for file in wrong if file.folder in out}


def _names(manifest: bytes, job_id: int) -> bool:
    """Whether it is the job's manifest, of an earlier moment: a claim does not write it again."""
    try:
        document: Any = json.loads(manifest)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("review_job_id") == job_id


def _read(files: ArtifactStore, path: str) -> bytes | None:
    try:
        return files.read_output(path)
    except OutputNotReadable:
        return None


def _stranger(name: str, owner: str, store_id: str, *, is_known: bool) -> str:
    if _JOB_FOLDER.fullmatch(name) is None:
        return "not the name of a job's folder"
    if owner not in ("", store_id):
        return (
            f"of another store ({owner}); where both are used, give each one"
            " COMMONPLACE_REVIEW_ARTIFACTS of its own"
        )
    return "" if is_known else "this store has no such job"
