"""Random histories of a store: steps of people, agents and operators, each of which may be refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.builders import NOTE, NOW, PARTITION, PASS, make_gate, make_root, write_gate, write_note
from tests.helpers.commands import Result, run
from tests.helpers.story import ERROR, FAILS, FINDINGS, UNDECIDED, Story

NOTES = ("a", "b", "c")
GATES = ("prose/x", "prose/y")
REVIEWS = (PASS, FINDINGS, FAILS, UNDECIDED, ERROR)
DAY = timedelta(days=1)
# A step by its name, the note that it is about, and which of several ways.
Step = tuple[str, str, int]


def history_root(folder: Path) -> Path:
    """Three notes and two gates."""
    return make_root(
        folder,
        notes={f"{name}.md": f"{NOTE}\nThis is note {name}.\n" for name in NOTES},
        gates={gate: make_gate(gate) for gate in GATES},
    )


class History:
    """Does the steps at a day's distance from each other; a refusal is an answer like another."""

    def __init__(self, root: Path) -> None:
        self.now: datetime = NOW
        self._root = root
        self._story = Story(root, self._do)
        self.steps: dict[str, Callable[[str, int], object]] = {
            "review": self._review,
            "half-a-review": self._half_a_review,
            "edit": self._edit,
            "edit-the-gate": self._edit_the_gate,
            "ack": self._ack,
            "override": self._override,
            "decide": self._decide,
            "dispose": self._dispose,
            "queue": self._queue,
            "give-up": self._give_up,
            "too-late": self._too_late,
            "move": self._move,
        }

    def go(self, steps: Iterable[Step]) -> None:
        """Do the steps, one a day."""
        for name, note, way in steps:
            self.now += DAY
            self.steps[name](note, way)

    def _do(self, name: str, *args: object, stdin: str | None = None) -> Result:
        return run(name, *args, stdin=stdin, now=self.now)

    def _json(self, *argv: object) -> Any:
        done = self._do(*map(str, argv), "--json")
        return done.json if done.exit == 0 else None

    def _review(self, note: str, way: int) -> None:
        if self._there(note):
            job = self._story.claimed(note, force=True)
            self._story.ingest(job, REVIEWS[way % len(REVIEWS)])

    def _half_a_review(self, note: str, way: int) -> None:
        if self._there(note):
            job = self._story.claimed(note, force=True)
            self._story.ingest(job, REVIEWS[way % len(REVIEWS)], only=1, exit_code=1)

    def _edit(self, note: str, way: int) -> None:
        if self._there(note):
            write_note(self._root, f"{note}.md", f"{NOTE}\nThis is note {note}, edit {way}.\n")

    def _edit_the_gate(self, note: str, way: int) -> None:
        del note
        write_gate(self._root, GATES[way % 2], make_gate(GATES[way % 2], body=f"Version {way}.\n"))

    def _ack(self, note: str, way: int) -> None:
        self._do("ack_gate_review", "--model", PARTITION, f"kb/notes/{note}.md", GATES[way % 2])

    def _override(self, note: str, way: int) -> None:
        self._do("override_acceptance", "--model", PARTITION, f"kb/notes/{note}.md", GATES[way % 2],
                 "--reason", "as it is", "--actor", "human:ana")  # fmt: skip

    def _decide(self, note: str, way: int) -> None:
        del note
        self._do("set_decision", "--review-pair-id", way + 1, "--as", ("pass", "warn")[way % 2],
                 "--reason", "read", "--actor", "human:ana")  # fmt: skip

    def _dispose(self, note: str, way: int) -> None:
        del note
        queue = self._json("warn_selector")
        marks = [it["fingerprint"] for entry in queue["entries"] for it in entry["findings"]]
        state = ("fixed", "rejected", "deferred", "open")[way % 4]
        if marks:
            self._do("dispose_finding", marks[way % len(marks)], "--as", state, "--reason", "so")

    def _queue(self, note: str, way: int) -> None:
        del way
        if self._there(note):
            self._story.create(note, force=True)

    def _give_up(self, note: str, way: int) -> None:
        del note
        self._do("recover_review_jobs", way + 1, "--action", ("fail", "replace")[way % 2])

    def _too_late(self, note: str, way: int) -> None:
        """A job is replaced, and then its worker writes after all."""
        if self._there(note):
            job = self._story.claimed(note, force=True)
            self._do("recover_review_jobs", job["review_job_id"], "--action", "replace")
            (self._root / job["bundle_output_path"]).write_text(f"late {way}\n", encoding="utf-8")

    def _move(self, note: str, way: int) -> None:
        if self._there(note):
            old, new = f"kb/notes/{note}.md", f"kb/notes/{note}-{way}.md"
            shutil.move(self._root / old, self._root / new)
            self._do("carry_over_acceptances", old, new)

    def _there(self, note: str) -> bool:
        return (self._root / "kb" / "notes" / f"{note}.md").is_file()
