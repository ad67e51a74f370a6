"""The tools: arguments, which are their schemas, and commands; nothing here loads Django."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from review.documents.base import ReviewBlockJson

# No name can begin as an option does: it stands on a command line.
_Name = Annotated[str, Meta(pattern=r"^[^-\s]")]
_Gates = Annotated[list[_Name], Meta(description="gate ids such as prose/restatement, or bundles")]
_Notes = Annotated[list[_Name], Meta(description="notes and folders from the root; empty is all")]
_Model = Annotated[
    str, Meta(description="model partition that reviews count for; status lists them")
]
_After = Annotated[str, Meta(description="`next` of the part before this one")]
_Limit = Annotated[int, Meta(ge=1, le=1000)]
# Arguments that the commands call otherwise.
_OPTIONS = {"notes": "note", "state": "status"}
# What a tool does by itself, of the options that a next step can have.
_IMPLIED = {"runner", "ready", "summary", "all_gates", "_q"}
# Prompts of so many tokens together are given in an answer.
PROMPT_TOKENS = 7000


class Call(NamedTuple):
    """A command with its arguments and its standard input."""

    command: str
    words: tuple[str, ...] = ()
    stdin: bytes = b""


class Tool(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of a tool; the docstring is what a client is told of it."""

    def _call(self, stdin: bytes = b"", **more: Any) -> Call:
        """Return the command with the arguments as its options: lists behind them, gates in front."""
        does = DOES[type(self)]
        words = [*does.words]
        for name, value in {**msgspec.structs.asdict(self), **more}.items():
            option = f"--{_OPTIONS.get(name, name).replace('_', '-')}"
            if name == "gates":
                words = [*value, *words]
            elif isinstance(value, list):
                words += [option, *value] if value else []
            elif value:
                words.append(option if value is True else f"{option}={value}")
        return Call(does.command, tuple(words), stdin)

    def calls(self, runner: str) -> Sequence[Call]:
        """Return the commands, one for each job where there are several; `runner` is the client."""
        return [self._call()]


class ScopedTool(Tool, kw_only=True):
    """A tool that takes gates and notes."""

    gates: _Gates = []
    notes: _Notes = []


class Status(Tool):
    """Start here: counts, partitions and next_steps: what to do, each with its command and tool."""

    model: _Model = ""


class Stale(ScopedTool, kw_only=True):
    """List the pairs that want a review: by note, the gates for each reason; no gates is every gate."""

    model: _Model
    skip_rules: bool = True
    limit: _Limit = 200
    after: _After = ""

    def calls(self, runner: str) -> Sequence[Call]:
        return [self._call(all_gates=not self.gates)]


class TakeJobs(ScopedTool, kw_only=True):
    """Take review work and get its prompts: stale pairs of gates (or all_gates), else queued jobs.

    Judge each pair that a prompt lists and answer all jobs in one submit_review; write no file.
    Where shares_with names a job, the task and the gates are those of that job's prompt. A prompt
    of over 7000 tokens comes alone, and empty: read the file at its prompt_path. left counts the
    stale pairs of the scope that were not taken, queued the jobs that wait for the next call.
    """

    all_gates: bool = False
    model: _Model = ""
    runner_model: Annotated[str, Meta(description="your model's own name, if you know it")] = ""
    skip_rules: bool = True
    grouping: Annotated[
        Literal["note", "gate"], Meta(description="a job a note and lens, or a gate and some notes")
    ] = "note"
    across_lenses: Annotated[
        bool, Meta(description="one job a note for gates of several lenses: fewer prompts")
    ] = False
    jobs: Annotated[int, Meta(ge=1, le=50, description="at most so many")] = 5
    max_tokens: Annotated[
        int, Meta(ge=1, description="of all prompts together; above the default, one job is taken")
    ] = PROMPT_TOKENS

    def calls(self, runner: str) -> Sequence[Call]:
        skips = self.skip_rules and bool(self.gates or self.all_gates)
        has_model = bool(self.runner_model)
        jobs = self.jobs if self.max_tokens <= PROMPT_TOKENS else 1
        return [self._call(runner=runner, skip_rules=skips, effort_unknown=has_model, jobs=jobs)]


class JobReviews(msgspec.Struct, forbid_unknown_fields=True):
    review_job_id: Annotated[int, Meta(ge=1)]
    blocks: Annotated[list[ReviewBlockJson], Meta(min_length=1)]


class SubmitReview(Tool):
    """Store the reviews of jobs that you took: one block for each pair of each prompt.

    The blocks take the place of the file and the frame lines that a prompt speaks of.
    The decision is as grave as the gravest finding; error means that you could not judge.
    """

    jobs: Annotated[list[JobReviews], Meta(min_length=1, max_length=50)]

    def calls(self, runner: str) -> Sequence[Call]:
        return [
            Call(
                DOES[SubmitReview].command,
                ("--review-job-id", str(job.review_job_id), "--typed-json", "-"),
                msgspec.json.encode(job.blocks),
            )
            for job in self.jobs
        ]


class Findings(ScopedTool, kw_only=True):
    """List findings of current reviews that want an edit, by note and gate.

    Without severity these are warn and fail: info is a remark that asks for no change.
    """

    model: _Model = ""
    severity: list[Literal["info", "warn", "fail"]] = []
    state: list[Literal["open", "fixed", "rejected", "deferred"]] = []
    limit: _Limit = 50
    after: _After = ""

    def calls(self, runner: str) -> Sequence[Call]:
        severity = self.severity or ["warn", "fail"]
        return [self._call(gates=[], gate=self.gates, severity=severity)]


class FixPrompt(Tool):
    """Get all that is open about one note as one prompt: edit the note, then call dispose."""

    note: _Name
    after: _After = ""

    def calls(self, runner: str) -> Sequence[Call]:
        return [Call("fix_prompt", (self.note,))]


class Disposal(msgspec.Struct, forbid_unknown_fields=True):
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    state: Literal["fixed", "rejected", "deferred", "open"]
    reason: str = ""


class Dispose(Tool):
    """Record what became of findings: fixed, rejected, deferred or open, and the reason."""

    findings: Annotated[list[Disposal], Meta(min_length=1, max_length=200)]

    def calls(self, runner: str) -> Sequence[Call]:
        lines = (
            f"{item.fingerprint}: {item.state}: {' '.join(item.reason.split())}\n"
            for item in self.findings
        )
        return [Call("dispose_finding", ("-",), "".join(lines).encode("utf-8", "replace"))]


class AckTrivial(Tool):
    """Accept, free of charge, notes that changed in nothing that their gates watch."""

    model: _Model
    notes: _Notes = []

    def calls(self, runner: str) -> Sequence[Call]:
        return [self._call(all_gates=True)]


class Check(Tool):
    """Judge a note by the rule gates, free of charge: as saved, or `text` that is not saved yet."""

    note: Annotated[_Name, Meta(description="path from the root; with text it need not exist")]
    text: str = ""
    gates: _Gates = []

    def calls(self, runner: str) -> Sequence[Call]:
        return [self._call(self.text.encode("utf-8", "replace"), text="-" if self.text else "")]


class RunRules(ScopedTool):
    """Judge all notes, or these, by the rule gates, free of charge, and store what they find."""

    def calls(self, runner: str) -> Sequence[Call]:
        return [self._call(all_gates=not self.gates)]


class Does(NamedTuple):
    """The command that a tool calls, with `words` and the arguments, and what it does to the store.

    What does not only read adds to the store, if it is `repeatable` once, however often called.
    """

    command: str = ""
    words: tuple[str, ...] = ()
    reads: bool = True
    repeatable: bool = True


DOES: Mapping[type[Tool], Does] = {
    Status: Does("review_status", ("--summary",)),
    Stale: Does("review_target_selector", ("--no-diff",)),
    TakeJobs: Does("next_review_job", reads=False, repeatable=False),
    SubmitReview: Does("ingest_bundle_output", reads=False),
    Findings: Does("warn_selector"),
    FixPrompt: Does(),
    Dispose: Does(reads=False),
    AckTrivial: Does("ack_trivial_changes", reads=False),
    Check: Does("review_check", ("--rules-only",)),
    RunRules: Does("review_sweep", ("--runner=rules",), reads=False),
}
# Named as their classes, in lower case with underscores.
TOOLS: Mapping[str, type[Tool]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in DOES
}


def step_of(command: str) -> dict[str, Any]:
    """Return the tool that does what a command of `next_steps` does, and its arguments, or nulls."""
    head, *options = re.split(r"\s(?=-)", command)
    _program, name, *gates = shlex.split(head)
    given: dict[str, Any] = {"gates": gates} if gates else {}
    for option, *values in map(shlex.split, options):
        word = option.removeprefix("--").replace("-", "_")
        only = "".join(values) or True
        given[word] = values if values[1:] else int(only) if word == "limit" else only
    for tool, kind in TOOLS.items():
        fields = kind.__struct_fields__
        arguments = {word: given[word] for word in given if word in fields or word not in _IMPLIED}
        if DOES[kind].command == name and arguments.keys() <= set(fields):
            return {"tool": tool, "arguments": arguments}
    return {"tool": None, "arguments": None}


def input_schema(kind: type[Tool]) -> dict[str, Any]:
    """The arguments as one JSON Schema without references, which not every client follows."""
    _reference, parts = msgspec.json.schema_components([kind], ref_template="{name}")
    schema: dict[str, Any] = _inlined(parts[kind.__name__], parts)
    return schema


def _inlined(value: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inlined(item, parts) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(parts[value["$ref"]], parts)
    kept = value.keys() - ({"title", "description"} if value.get("type") == "object" else set())
    return {name: _inlined(value[name], parts) for name in value if name in kept}
