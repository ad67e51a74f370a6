"""Executors of a job's pairs: the embedded reviewer, a CLI in a process, or a model API.

A job is prepared before it is claimed: one that cannot run here stays queued for others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from review.errors import Conflict
from review.ingest.parse import names_of, write_blocks
from review.jobs.output_states import next_run_folder
from review.jobs.prompts import read_job_prompt
from review.jobs.provenance import PartitionMismatch
from review.knowledge_base.gate_definition import read_gate
from review.knowledge_base.resolver import Linker, read_linked_files
from review.models import Provenance, ReviewJob, ReviewPair
from review.runners.api.provider import ApiProvider, ModelCall
from review.runners.api.run import run_api
from review.runners.outcome import RunnerOutcome
from review.runners.registry import RunnerSpec
from review.runners.rules.judge import RULES, judge
from review.runners.rules.page import RuleInput, RuleLink
from review.runners.run import RunRequest, not_prepared, run_cli, scratch_folder
from review.settings import RULES_PARTITION, Config


class CannotRun(Conflict):
    """This runner cannot judge the job; it stays queued for another one."""


# Runs a job that is ready. Ends early when the event is set.
Execution = Callable[[threading.Event], RunnerOutcome]


@dataclass(frozen=True)
class Executor:
    """Makes the jobs of one runner ready; a model API has a provider instead of a command."""

    spec: RunnerSpec
    provenance: Provenance
    timeout: timedelta
    linker: Linker
    config: Config
    provider: ApiProvider | None = None

    def prepare(self, job: ReviewJob) -> Execution:
        """Make a job ready.

        :raises CannotRun: a gate has no rule, or the prompt is not what the job was made with.
        :raises PartitionMismatch: the embedded reviewer cannot judge for a model.
        """
        if self.spec.in_process:
            return self._rules(job)
        return self._process(job) if self.provider is None else self._api(job, self.provider)

    def _rules(self, job: ReviewJob) -> Execution:
        """Judge each pair by the rule of its gate, in this process."""
        if job.model_partition.name != RULES_PARTITION:
            raise PartitionMismatch(
                f"job {job.pk} is for partition {job.model_partition.name!r}; the embedded reviewer"
                f" is no model and reviews only partition {RULES_PARTITION!r}",
                hint="rules go first: commonplace review_sweep --all-gates --runner rules --model rules",
            )
        related = ("note", "gate", "note_snapshot", "gate_snapshot")
        pairs = list(job.pairs.select_related(*related).order_by("ordinal"))
        names = names_of(job, self.config)
        rules = {pair.ordinal: _rule_of(pair, names[pair.ordinal][1]) for pair in pairs}
        without = dict.fromkeys(names[key][1] for key, rule in rules.items() if rule not in RULES)
        if without:
            raise CannotRun(f"no rule judges {', '.join(without)}")

        def run(_stop: threading.Event) -> RunnerOutcome:
            reviews = {}
            for pair in pairs:
                text, path = pair.note_snapshot.text, pair.note.path
                given = rule_input(text, note_path=path, linker=self.linker)
                reviews[pair.ordinal] = judge(rules[pair.ordinal], given)
            return with_blocks(RunnerOutcome(typed=reviews), job, names)

        return run

    def _process(self, job: ReviewJob) -> Execution:
        """Have a CLI judge the job in a process, out of the knowledge base's reach."""
        prompt, config = _read_prompt(job, self.config), self.config
        pairs = job.pairs.select_related("note", "note_snapshot").order_by("ordinal")
        notes = {pair.note.path: pair.note_snapshot.text for pair in pairs}
        reading = read_linked_files(notes.items(), linker=self.linker, root=str(config.root))

        def run(stop: threading.Event) -> RunnerOutcome:
            try:
                with scratch_folder() as scratch:
                    request = RunRequest(
                        spec=self.spec,
                        prompt=prompt,
                        scratch=scratch,
                        files=next_run_folder(job, config=config),
                        output=job.bundle_output_path,
                        model=self.provenance.runner_model,
                        effort=self.provenance.runner_effort,
                        timeout=self.timeout.total_seconds(),
                        reading=reading,
                    )
                    return run_cli(request, stop=stop)
            except OSError as error:  # of the scratch folder
                return not_prepared(error, unusable=True)

        return run

    def _api(self, job: ReviewJob, provider: ApiProvider) -> Execution:
        """Have a model judge the job through its provider's API."""
        call = model_call(job, provenance=self.provenance, config=self.config)
        names = names_of(job, self.config)
        timeout = self.timeout.total_seconds()

        def run(stop: threading.Event) -> RunnerOutcome:
            outcome = run_api(provider, call, ordinals=list(names), timeout=timeout, stop=stop)
            return with_blocks(outcome, job, names)

        return run


def with_blocks(
    outcome: RunnerOutcome, job: ReviewJob, names: Mapping[int, tuple[str, str]]
) -> RunnerOutcome:
    """Write the reviews that came as data as the text of the outcome."""
    if not outcome.typed:
        return outcome
    text = write_blocks(outcome.typed, token=job.sentinel_token, names=names)
    return replace(outcome, text=text)


def model_call(job: ReviewJob, *, provenance: Provenance, config: Config) -> ModelCall:
    """The job's prompt for a model.

    :raises CannotRun: the prompt is not what the job was made with.
    """
    prompt = _read_prompt(job, config).decode()
    return ModelCall(prompt, provenance.runner_model or "", provenance.runner_effort)


def _read_prompt(job: ReviewJob, config: Config) -> bytes:
    prompt = read_job_prompt(job, config=config)
    if prompt is None:
        raise CannotRun(
            f"its prompt {job.prompt_path} is not what the job was made with, or is gone and cannot"
            " be rendered again: files that its notes link to are gone or changed",
            hint="make it again: commonplace review_doctor --repair",
        )
    return prompt


def _rule_of(pair: ReviewPair, gate_id: str) -> str:
    """The rule that the gate's text as it was taken names."""
    return read_gate(path=pair.gate.path, gate_id=gate_id, text=pair.gate_snapshot.text).rule


def rule_input(text: str, *, note_path: str, linker: Linker) -> RuleInput:
    """A text as rules read it, with its links resolved."""
    links = []
    for link in linker.links(text):
        found = linker.resolve(link.target, note_path=note_path, kind=link.kind)
        resolved = (found.path, found.external, found.anchor)
        links.append(RuleLink(link.target, link.line, *resolved, link.kind))
    return RuleInput(
        note_path,
        text,
        tuple(links),
        linker.flavour,
        linker.anchors_of,
        linker.repository,
        linker.text_of,
    )
