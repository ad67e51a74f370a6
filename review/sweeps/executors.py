"""How the pairs of a claimed job are judged: by the embedded reviewer, or by a CLI in a process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Protocol

from review.domain.paths import gate_id_of
from review.errors import Conflict
from review.job_files import ArtifactStore
from review.jobs.left_runs import run_folder
from review.jobs.provenance import PartitionMismatch
from review.knowledge_base.gate_definition import read_gate
from review.knowledge_base.resolver import Linker, read_linked_files
from review.models import ReviewJob, ReviewPair
from review.protocol.sentinels import end_line, start_line
from review.protocol.typed_review import render_typed_review
from review.runners.outcome import RunnerOutcome
from review.runners.rules.judge import RULES, judge
from review.runners.rules.values import RuleInput, RuleLink
from review.runners.run import RunRequest, not_prepared, run_review, scratch_folder
from review.runners.spec import RunnerSpec
from review.settings.config import RULES_PARTITION, Config


class CannotRun(Conflict):
    """This runner cannot judge the job; it stays queued for somebody who can."""


# Runs a job that is ready; the number of the run counts from 1. Ends early when the event is set.
Execution = Callable[[int, threading.Event], RunnerOutcome]


class Executor(Protocol):
    @property
    def in_process(self) -> bool:
        """Whether a run takes this process's own time, so that two at once are no faster."""

    def prepare(self, job: ReviewJob) -> Execution:
        """Make a queued job ready, before it is claimed.

        :raises CannotRun: this executor cannot judge it.
        :raises PartitionMismatch: the job is for a partition that it never reviews for.
        """


@dataclass(frozen=True)
class RulesExecutor:
    """The embedded reviewer: judges each pair by its gate's rule, in this process."""

    linker: Linker
    config: Config
    in_process: ClassVar[bool] = True

    def prepare(self, job: ReviewJob) -> Execution:
        if job.model_partition.name != RULES_PARTITION:
            raise PartitionMismatch(
                f"job {job.pk} is for partition {job.model_partition.name!r}; the embedded reviewer"
                f" is no model and reviews only partition {RULES_PARTITION!r}",
                hint="select for it: commonplace review_target_selector --rules-only --all-gates --model rules --json",
            )
        related = ("note", "gate", "note_snapshot", "gate_snapshot")
        pairs = list(job.pairs.select_related(*related).order_by("ordinal"))
        without = dict.fromkeys(
            _gate_id(pair, self.config)
            for pair in pairs
            if _rule_of(pair, self.config) not in RULES
        )
        if without:
            raise CannotRun(f"no rule judges {', '.join(without)}")
        return lambda _number, _stop: self._judge(job, pairs)

    def _judge(self, job: ReviewJob, pairs: Sequence[ReviewPair]) -> RunnerOutcome:
        reviews = {
            pair.ordinal: judge(_rule_of(pair, self.config), _rule_input(pair, self.linker))
            for pair in pairs
        }
        blocks = []
        for pair in pairs:
            gate_id = _gate_id(pair, self.config)
            names = (job.sentinel_token, pair.ordinal, pair.note.path, gate_id)
            text = render_typed_review(reviews[pair.ordinal]).rstrip("\n")
            blocks += [start_line(*names), text, end_line(*names), ""]
        return RunnerOutcome(text="\n".join(blocks).encode("utf-8", "replace"), typed=reviews)


@dataclass(frozen=True)
class ProcessExecutor:
    """A CLI in a process of its own, for at most `timeout`, out of the knowledge base's reach.

    :param model: what the CLI is told to run; None leaves it to the CLI.
    """

    spec: RunnerSpec
    model: str | None
    effort: str | None
    timeout: timedelta
    linker: Linker
    config: Config
    in_process: ClassVar[bool] = False

    def prepare(self, job: ReviewJob) -> Execution:
        prompt = ArtifactStore(self.config).read_output(job.prompt_path)
        if prompt is None or hashlib.sha256(prompt).hexdigest() != job.prompt_sha256:
            what = "gone" if prompt is None else "not what the job was made with"
            raise CannotRun(
                f"its prompt {job.prompt_path} is {what}",
                hint="make it again: commonplace review_doctor --repair",
            )
        pairs = job.pairs.select_related("note", "note_snapshot").order_by("ordinal")
        notes = {pair.note.path: pair.note_snapshot.text for pair in pairs}
        reading = read_linked_files(notes.items(), linker=self.linker, root=str(self.config.root))
        return lambda number, stop: self._run(number, stop, job, prompt, reading)

    def _run(
        self,
        number: int,
        stop: threading.Event,
        job: ReviewJob,
        prompt: bytes,
        reading: Mapping[str, bytes],
    ) -> RunnerOutcome:
        with ExitStack() as folders:
            try:
                scratch = folders.enter_context(scratch_folder())
            except OSError as error:
                return not_prepared(error, unusable=True)
            request = RunRequest(
                spec=self.spec,
                prompt=prompt,
                scratch=scratch,
                files=run_folder(job, number, config=self.config),
                output=job.bundle_output_path,
                model=self.model,
                effort=self.effort,
                timeout=self.timeout.total_seconds(),
                reading=reading,
            )
            return run_review(request, stop=stop)


def _rule_input(pair: ReviewPair, linker: Linker) -> RuleInput:
    text, note_path = pair.note_snapshot.text, pair.note.path
    links = []
    for link in linker.links(text):
        found = linker.resolve(link.target, note_path=note_path, kind=link.kind)
        links.append(
            RuleLink(
                target=link.target,
                line=link.line,
                resolved=found.path,
                external=found.external,
                anchor=found.anchor,
                kind=link.kind,
            )
        )
    return RuleInput(note_path, text, tuple(links), linker.flavour, linker.anchors_of)


def _rule_of(pair: ReviewPair, config: Config) -> str:
    gate_id = _gate_id(pair, config)
    return read_gate(path=pair.gate.path, gate_id=gate_id, text=pair.gate_snapshot.text).rule


def _gate_id(pair: ReviewPair, config: Config) -> str:
    return gate_id_of(pair.gate.path, gates_folder=config.gates_folder)
