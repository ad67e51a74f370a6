"""The prompt of a job, rendered again from the texts that the store keeps."""

from __future__ import annotations

from review.domain.paths import gate_id_of, sha256_hex
from review.job_files import ArtifactStore
from review.knowledge_base import Corpus
from review.knowledge_base.gate_definition import read_gate
from review.knowledge_base.resolver import Linker
from review.models import ReviewJob
from review.protocol.prompt import PromptGate, PromptRequest, render_prompt
from review.protocol.sentinels import ExpectedPair
from review.settings.config import Config


def render_job_prompt(job: ReviewJob, *, linker: Linker, config: Config) -> bytes | None:
    """Return the prompt that the job was made with; None where it cannot be made again.

    The texts, the token and the order are the store's. The table of links is not: where a note
    that was linked to has come, gone or changed its size in kilobytes, the prompt would be another.
    """
    data = render_prompt(_request(job, linker, config.gates_folder)).encode()
    return data if sha256_hex(data) == job.prompt_sha256 else None


def read_job_prompt(job: ReviewJob, *, config: Config) -> bytes | None:
    """Return the prompt as its file holds it; where this machine has no such file, render it."""
    data = ArtifactStore(config).read_output(job.prompt_path)
    if data is None:
        return render_job_prompt(job, linker=Corpus(config).linker, config=config)
    return data if sha256_hex(data) == job.prompt_sha256 else None


def _request(job: ReviewJob, linker: Linker, gates_folder: str) -> PromptRequest:
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    pairs = list(job.pairs.select_related(*related).order_by("ordinal"))
    notes = {pair.note.path: pair.note_snapshot.text for pair in pairs}
    gates = {pair.gate.path: pair.gate_snapshot.text for pair in pairs}
    gate_ids = {path: gate_id_of(path, gates_folder=gates_folder) for path in gates}
    return PromptRequest(
        token=job.sentinel_token,
        bundle_output_path=job.bundle_output_path,
        pairs=[
            ExpectedPair(pair.ordinal, pair.note.path, gate_ids[pair.gate.path]) for pair in pairs
        ],
        notes=[linker.prompt_note(path, text) for path, text in notes.items()],
        gates=[
            PromptGate(gate.gate_id, gate.path, gate.text, gate.reads_links)
            for gate in (
                read_gate(path=path, gate_id=gate_ids[path], text=text)
                for path, text in gates.items()
            )
        ],
    )
