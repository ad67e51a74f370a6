"""Renders the prompt of a job again from the store, to be taken only if it is the one it was made with."""

from __future__ import annotations

from review.artifacts import ArtifactNotWritten, ArtifactStore
from review.conf import Config
from review.corpus import Corpus
from review.domain.identity import gate_id_of, sha256_hex
from review.models import ReviewJob, ReviewPair
from review.protocol.prompt import PromptGate, PromptPair, PromptRequest, render_prompt


class PromptMaker:
    """Makes prompts of jobs again; one for all the jobs of a command."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._files = ArtifactStore(config)
        self._corpus = Corpus(config)

    def again(self, job: ReviewJob) -> bytes | None:
        """The bytes of the job's prompt; None where they cannot be had any more.

        The texts, the token and the order are the store's. The table of links is not: where a note
        that was linked to has come or gone since, the prompt would be another.
        """
        data = render_prompt(self._request(job)).encode()
        return data if sha256_hex(data) == job.prompt_sha256 else None

    def write(self, job: ReviewJob) -> bool:
        """Write the job's prompt again; False where it cannot be had, or not be written."""
        data = self.again(job)
        if data is None:
            return False
        try:
            self._files.write_bytes(job.prompt_path, data)
        except ArtifactNotWritten:
            return False
        return True

    def _request(self, job: ReviewJob) -> PromptRequest:
        related = ("note", "gate", "note_snapshot", "gate_snapshot")
        pairs = list(job.pairs.select_related(*related).order_by("ordinal"))
        notes = {pair.note.path: pair.note_snapshot.text for pair in pairs}
        gates = {pair.gate.path: pair.gate_snapshot.text for pair in pairs}
        return PromptRequest(
            token=job.sentinel_token,
            bundle_output_path=job.bundle_output_path,
            pairs=[PromptPair(pair.ordinal, pair.note.path, self._gate_id(pair)) for pair in pairs],
            notes=[self._corpus.linker.prompt_note(path, text) for path, text in notes.items()],
            gates=[
                PromptGate(gate_id_of(path, gates_folder=self._config.gates_folder), path, text)
                for path, text in gates.items()
            ],
        )

    def _gate_id(self, pair: ReviewPair) -> str:
        return gate_id_of(pair.gate.path, gates_folder=self._config.gates_folder)
