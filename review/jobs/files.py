"""Files of jobs: prompts, outputs and what runs left; results and manifests, from the rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from review.documents.base import from_row, grouped
from review.domain.paths import sha256_hex
from review.errors import ReviewError
from review.job_files import ArtifactNotWritten, ArtifactStore, OutputNotReadable, manifest_path
from review.jobs.leases import Processes, parent_is_alive
from review.knowledge_base import Corpus, Gate, read_gate
from review.knowledge_base.resolver import Linker
from review.models import ReviewJob, ReviewPair, ReviewStore, ReviewText
from review.protocol.job_files import (
    Manifest,
    ManifestPair,
    ResultRecord,
    render_manifest,
    render_result,
)
from review.protocol.output import parse_output
from review.protocol.prompt import PromptGate, PromptNote, PromptRequest, render_prompt
from review.protocol.sentinels import ExpectedPair
from review.runners.outcome import RunnerOutcome
from review.settings import Config
from review.vocabulary import OPEN_JOB_STATUSES, JobStatus

# As many as sweeps that run at once can leave half closed, and some more.
_LATEST = 100


@dataclass(frozen=True)
class JobFiles:
    """The files of a job whose rows are loaded with partition, paths, snapshots and texts."""

    job: ReviewJob
    pairs: Sequence[ReviewPair]
    texts: Mapping[int, str]
    config: Config
    store_id: str

    def documents(self) -> Iterator[tuple[str, str]]:
        for pair in self.pairs:
            if pair.result_path and pair.pk in self.texts:
                record = _result(self.job, pair, self.config)
                yield pair.result_path, render_result(record, self.texts[pair.pk])
        yield manifest_path(self.job.prompt_path), self.manifest()

    def write(self) -> list[str]:
        """Write the files, and return what could not be written.

        The row is read again afterwards: if another process moved the job, newer files are written.
        """
        store = ArtifactStore(self.config)
        failures = []
        for path, text in self.documents():
            try:
                store.write_bytes(path, text.encode("utf-8", "replace"))
            except ArtifactNotWritten as refused:
                failures.append(refused.message)
        return rewrite_job_files(self.job.pk, config=self.config) if self._has_moved() else failures

    def manifest(self) -> str:
        job = self.job
        manifest = from_row(
            Manifest,
            job,
            store_id=self.store_id,
            review_job_id=job.pk,
            model_partition=job.model_partition.name,
            replaces=job.replaces_id,
            pairs=[
                from_row(ManifestPair, pair, pair_status=pair.status, **_names(pair, self.config))
                for pair in self.pairs
            ],
        )
        return render_manifest(manifest)

    def _has_moved(self) -> bool:
        """Return whether the job was moved since its row was read; a completed one never is."""
        if self.job.status == JobStatus.COMPLETED:
            return False
        now = ReviewJob.objects.values_list("status", "completed_at").get(pk=self.job.pk)
        return now != (self.job.status, self.job.completed_at)


def rewrite_job_files(job_id: int, *, config: Config) -> list[str]:
    """Write every result file of the job and its manifest again; return what could not be written."""
    (files,) = load_job_files([job_id], config=config)
    return files.write()


def finish_job_files(*, config: Config) -> list[int]:
    """Write the files of the latest closed jobs again whose worker was killed; return those jobs.

    The manifest is written last; one that is absent was removed on purpose.
    """
    closed = ReviewJob.objects.exclude(status__in=OPEN_JOB_STATUSES).order_by("-pk")
    columns = closed.values_list("pk", "status", "prompt_path")[:_LATEST]
    repaired = [pk for pk, status, path in columns if _is_outdated(path, status, config)]
    for job_id in repaired:
        rewrite_job_files(job_id, config=config)
    return sorted(repaired)


def load_job_files(job_ids: Sequence[int], *, config: Config) -> Iterator[JobFiles]:
    store_id = ReviewStore.objects.identity()
    jobs = ReviewJob.objects.select_related("model_partition").in_bulk(job_ids)
    rows = ReviewPair.objects.filter(job_id__in=job_ids).with_names()
    pairs = grouped((pair.job_id, pair) for pair in rows)
    for job_id in job_ids:
        texts = ReviewText.objects.filter(pair__job=job_id).values_list("pair_id", "text")
        yield JobFiles(jobs[job_id], pairs.get(job_id, []), dict(texts), config, store_id)


def _is_outdated(prompt_path: str, status: str, config: Config) -> bool:
    try:
        data = ArtifactStore(config).read_output(manifest_path(prompt_path))
        return data is not None and json.loads(data).get("status") != status
    except (OutputNotReadable, ValueError):
        return True


def _result(job: ReviewJob, pair: ReviewPair, config: Config) -> ResultRecord:
    return from_row(
        ResultRecord,
        pair,
        review_job_id=job.pk,
        model_partition=job.model_partition.name,
        runner=job.runner,
        runner_model=job.runner_model,
        runner_effort=job.runner_effort,
        self_reported_model=job.self_reported_model or None,
        **_names(pair, config),
    )


def _names(pair: ReviewPair, config: Config) -> dict[str, Any]:
    return {"review_pair_id": pair.pk, "gate_id": config.gate_id(pair.gate_path)}


def render_job_prompt(job: ReviewJob, *, linker: Linker, config: Config) -> bytes | None:
    """Return the prompt that the job was made with; None where it cannot be made again.

    Texts are the store's, but the table of links may have changed with the notes linked to.
    """
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    pairs = (
        (pair.note.path, pair.note_snapshot.text, snapshot_gate(pair, config))
        for pair in job.pairs.select_related(*related).order_by("ordinal")
    )
    data = render_pairs(
        pairs, job.sentinel_token, job.bundle_output_path, linker.prompt_note
    ).encode()
    return data if sha256_hex(data) == job.prompt_sha256 else None


def read_job_prompt(job: ReviewJob, *, config: Config) -> bytes | None:
    """Return the prompt as its file holds it; where this machine has no such file, render it."""
    data = ArtifactStore(config).read_output(job.prompt_path)
    if data is None:
        return render_job_prompt(job, linker=Corpus(config).linker, config=config)
    return data if sha256_hex(data) == job.prompt_sha256 else None


def render_pairs(
    pairs: Iterable[tuple[str, str, Gate]],
    token: str,
    bundle_output_path: str,
    prompt_note: Callable[[str, str], PromptNote],
) -> str:
    """Return the prompt for pairs: the path and the text of a note, and a gate."""
    pairs = list(pairs)
    notes = {path: text for path, text, _gate in pairs}
    gates = {gate.path: gate for _path, _text, gate in pairs}
    request = PromptRequest(
        token=token,
        bundle_output_path=bundle_output_path,
        pairs=[ExpectedPair(n, path, gate.gate_id) for n, (path, _, gate) in enumerate(pairs, 1)],
        notes=[prompt_note(path, text) for path, text in notes.items()],
        gates=[PromptGate(it.gate_id, it.path, it.text, it.reads_links) for it in gates.values()],
    )
    return render_prompt(request)


def snapshot_gate(pair: ReviewPair, config: Config) -> Gate:
    """Return the gate of a pair by the text that it is judged by."""
    path = pair.gate.path
    return read_gate(path=path, gate_id=config.gate_id(path), text=pair.gate_snapshot.text)


_RUN = re.compile(r"run-([1-9][0-9]{0,3})")


def next_run_folder(job: ReviewJob, *, config: Config) -> Path:
    """Return the folder for the output of the job's next run; they are numbered from 1."""
    from review.runners.run import read_record  # takes 15 ms

    begun = [folder for folder in run_folders(job, config=config) if read_record(folder)]
    number = int(begun[-1].name.removeprefix("run-")) if begun else 0
    return _job_folder(job, config) / f"run-{number + 1}"


def run_folders(job: ReviewJob, *, config: Config) -> list[Path]:
    """The folders of the job's runs that are there, oldest first."""
    try:
        names = [entry.name for entry in _job_folder(job, config).iterdir()]
    except OSError:
        return []
    numbers = sorted(int(match[1]) for name in names if (match := _RUN.fullmatch(name)))
    return [_job_folder(job, config) / f"run-{number}" for number in numbers]


def left_outcomes(job: ReviewJob, *, config: Config) -> list[RunnerOutcome]:
    """Return the known outcomes of the runs; only for a job whose parent is gone."""
    from review.runners.run import collect_run

    found = [collect_run(folder, config=config) for folder in run_folders(job, config=config)]
    return [outcome for outcome in found if outcome is not None]


def _job_folder(job: ReviewJob, config: Config) -> Path:
    return (config.root / job.prompt_path).parent


State = Literal["none", "unreadable", "foreign", "partial", "complete"]


@dataclass(frozen=True)
class OutputState:
    """The completeness of an output; `missing` says by ordinal why a pair has no whole review."""

    state: State
    missing: dict[int, str] = field(default_factory=dict)
    kept: int = 0

    @property
    def detail(self) -> str:
        """The parts of a partial output that an ingest would keep; else empty."""
        if self.state != "partial":
            return ""
        why = "; ".join(f"pair {ordinal}: {reason}" for ordinal, reason in self.missing.items())
        return f"{self.kept} kept, {len(self.missing)} missing: {why}"


def output_states(
    jobs: Iterable[ReviewJob], *, config: Config, processes: Processes | None = None
) -> dict[int, OutputState]:
    """Return how much of each job's output is there; with `processes`, files of dead runs count."""
    states: dict[int, OutputState] = {}
    texts: dict[int, tuple[str, bytes]] = {}
    for job in jobs:
        try:
            data = output_of(job, config=config, processes=processes)
        except ReviewError:
            states[job.pk] = OutputState("unreadable")
            continue
        states[job.pk] = OutputState("none")
        if data.strip():
            texts[job.pk] = (job.sentinel_token, data)
    rows = ReviewPair.objects.filter(job_id__in=list(texts)).with_names()
    expected = grouped(
        (it.job_id, ExpectedPair(it.ordinal, it.note_path, config.gate_id(it.gate_path)))
        for it in rows
    )
    for job_id, (token, data) in texts.items():
        parsed = parse_output(data, token=token, expected=expected[job_id])
        missing = dict(parsed.missing)
        states[job_id] = OutputState("foreign")
        if parsed.has_own_blocks:
            state: State = "partial" if missing else "complete"
            states[job_id] = OutputState(state, missing, len(parsed.blocks))
    return states


def output_of(job: ReviewJob, *, config: Config, processes: Processes | None = None) -> bytes:
    """Return the output; without one the longest text that the runs of a dead parent have left."""
    if written := ArtifactStore(config).read_output(job.bundle_output_path):
        return written
    if (
        processes is None
        or job.status != JobStatus.RUNNING
        or parent_is_alive(job, processes=processes) is not False
    ):
        return b""
    texts = [outcome.text or b"" for outcome in left_outcomes(job, config=config)]
    return max(texts, key=len, default=b"")
