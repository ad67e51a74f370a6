"""The prompt of a job, rendered again from the texts that the store keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

from review.domain.paths import gate_id_of, sha256_hex
from review.job_files import ArtifactStore
from review.knowledge_base import Corpus, Gate
from review.knowledge_base.gate_definition import read_gate
from review.knowledge_base.resolver import Linker
from review.models import ReviewJob
from review.protocol.prompt import PromptGate, PromptNote, PromptRequest, render_prompt
from review.protocol.sentinels import ExpectedPair
from review.settings import Config


def render_job_prompt(job: ReviewJob, *, linker: Linker, config: Config) -> bytes | None:
    """Return the prompt that the job was made with; None where it cannot be made again.

    The texts, the token and the order are the store's. The table of links is not: where a note
    that was linked to has come, gone or changed its size in kilobytes, the prompt would be another.
    """
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    gate_of = cache(partial(_gate, config.gates_folder))
    pairs = [
        (pair.note.path, pair.note_snapshot.text, gate_of(pair.gate.path, pair.gate_snapshot.text))
        for pair in job.pairs.select_related(*related).order_by("ordinal")
    ]
    prompt = render_pairs(
        pairs, job.sentinel_token, job.bundle_output_path, prompt_note=linker.prompt_note
    )
    data = prompt.encode()
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
    *,
    prompt_note: Callable[[str, str], PromptNote],
) -> str:
    """Return the prompt for pairs: the path and the text of a note, and a gate."""
    pairs = list(pairs)
    notes = {path: text for path, text, _gate in pairs}
    gates = {gate.path: gate for _path, _text, gate in pairs}
    request = PromptRequest(
        token=token,
        bundle_output_path=bundle_output_path,
        pairs=[
            ExpectedPair(ordinal, path, gate.gate_id)
            for ordinal, (path, _text, gate) in enumerate(pairs, 1)
        ],
        notes=[prompt_note(path, text) for path, text in notes.items()],
        gates=[
            PromptGate(gate.gate_id, gate.path, gate.text, gate.reads_links)
            for gate in gates.values()
        ],
    )
    return render_prompt(request)


def _gate(gates_folder: str, path: str, text: str) -> Gate:
    return read_gate(path=path, gate_id=gate_id_of(path, gates_folder=gates_folder), text=text)
