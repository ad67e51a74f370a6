"""Runs the fake CLIs of tests/fakes as what they stand for, found on a PATH of their own."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from review.protocol.prompt import PromptGate, PromptNote, PromptRequest, render_prompt
from review.protocol.sentinels import ExpectedPair
from review.runners.outcome import RunnerOutcome
from review.runners.registry import find_runner, installed_runner
from review.runners.run import RunRequest, run_cli
from review.settings import Config
from review.settings.file import RunnerOutput, RunnerSettings

FAKES = Path(__file__).resolve().parents[1] / "fakes"
PROGRAMS = {
    "claude": "claude_code.py",
    "codex": "codex.py",
    "gemini": "gemini.py",
    "llm": "llm.py",
    "odd": "odd.py",
}
TOKEN = "0a1b2c3d"
OUTPUT = "kb/reports/bundle-reviews/review-job-7/bundle-output.md"
GATE = "prose/source-residue"
NOTES = ("kb/notes/a.md", "kb/notes/b.md")
_ODD: Any = ("odd",)
_STREAM: Any = ("gemini", "-o", "stream-json")
# Declared runners of the tests: one program, its output read in each of the ways there are.
DECLARED = {
    "text": RunnerSettings("text", command=_ODD),
    "file": RunnerSettings("file", command=_ODD, output=RunnerOutput.FILE),
    "editor": RunnerSettings("editor", command=_ODD, edits=True),
    "json": RunnerSettings(
        "json",
        command=_ODD,
        output=RunnerOutput.JSON,
        fields={"answer": "message.content", "error": "error"},
    ),
    "jsonl": RunnerSettings(
        "jsonl",
        command=_ODD,
        output=RunnerOutput.JSON_LINES,
        fields={
            "answer": "part.text",
            "model": "model",
            "cost_usd": "cost",
            "input_tokens": "tokens.in",
            "output_tokens": "tokens.out",
        },
        where={"type": "text"},
        join=True,
    ),
    "gemini-lines": RunnerSettings(
        "gemini-lines",
        command=_STREAM,
        output=RunnerOutput.JSON_LINES,
        fields={
            "answer": "content",
            "session_id": "session_id",
            "input_tokens": "stats.input_tokens",
        },
        where={"role": "assistant"},
        join=True,
    ),
    "claude-file": RunnerSettings("claude-file", like="claude-code", output=RunnerOutput.FILE),
    "codex-file": RunnerSettings("codex-file", like="codex", output=RunnerOutput.FILE),
    "gemini-file": RunnerSettings("gemini-file", like="gemini", output=RunnerOutput.FILE),
}


@dataclass(frozen=True)
class Ran:
    """What a run of a fake came to, and where."""

    outcome: RunnerOutcome
    files: Path
    scratch: Path
    seconds: float


@dataclass(frozen=True)
class Fake:
    """How to run a fake; `changes` are those of the RunRequest's fields."""

    runner: str
    case: str = "ok"
    timeout: float = 30.0
    edits: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(self, folder: Path, **changes: object) -> Ran:
        """Run it in folders below `folder`."""
        request = self.request(folder, **changes)
        begun = time.monotonic()
        outcome = run_cli(request, stop=self.stop)
        return Ran(outcome, request.files, request.scratch, time.monotonic() - begun)

    def request(self, folder: Path, **changes: object) -> RunRequest:
        """The request of the run."""
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        environ = {**os.environ, "PATH": fake_path(folder), "FAKE_CASE": self.case, **self.environ}
        config = fake_config(folder)
        spec = find_runner(self.runner, config=config)
        values = {
            "spec": installed_runner(spec, root=config.root, environ=environ),
            "prompt": prompt().encode(),
            "scratch": scratch,
            "files": folder / "files",
            "output": OUTPUT,
            "timeout": self.timeout,
            "environ": environ,
            "edits": self.edits,
            **changes,
        }
        return RunRequest(**values)  # type: ignore[arg-type]


def fake_config(root: Path) -> Config:
    """A configuration with the tests' declared runners."""
    return Config(
        root=root,
        database=str(root / "store.sqlite"),
        artifacts=root / "artifacts",
        actor="human:test",
        runners=DECLARED,
    )


def fake_path(folder: Path) -> str:
    """A PATH on which each fake is found under the name of what it stands for."""
    programs = folder / "bin"
    if not programs.exists():
        programs.mkdir()
        for name, script in PROGRAMS.items():
            program = programs / name
            call = f'exec "{sys.executable}" -E -S "{FAKES / script}" "$@"'
            program.write_text(f"#!/bin/sh\n{call}\n", encoding="utf-8")
            program.chmod(0o755)
    return f"{programs}:/usr/bin:/bin"


def prompt(note_text: str = "# A note\n\nIts text.\n") -> str:
    """A job's prompt: two notes, one gate."""
    return render_prompt(
        PromptRequest(
            token=TOKEN,
            bundle_output_path=OUTPUT,
            pairs=[ExpectedPair(number, path, GATE) for number, path in enumerate(NOTES, 1)],
            notes=[PromptNote(path, note_text) for path in NOTES],
            gates=[PromptGate(GATE, f"kb/instructions/review-gates/{GATE}.md", "# Residue\n")],
        )
    )
