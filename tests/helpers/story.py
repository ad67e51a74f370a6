"""A store in which everything occurs, told by commands alone: the same story in any database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.builders import NOTE, PARTITION, PASS, make_gate, make_root, write_gate, write_note
from tests.helpers.commands import Result

FINDINGS = (
    "### Findings\n- WARN: the claim has no source\n  > A reader finds a note by its title\n"
    "- INFO: a long sentence\n\n## Result: WARN"
)
FAILS = "### Findings\n- FAIL: it contradicts itself\n\n## Result: FAIL"
UNDECIDED = "### Summary\nI cannot say.\n"
ERROR = "### Summary\nThe note is empty here.\n\n## Result: ERROR"
OTHER_MODEL = "gpt-5-1"
GATES = ("prose/x", "prose/y")
NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "moved", "undone")
_PAIR = re.compile(r"^(?P<names>[0-9a-f]{8}/\d+: .+ :: .+)$", re.MULTILINE)

Do = Callable[..., Result]


def story_root(folder: Path) -> Path:
    """The knowledge base the story starts from."""
    return make_root(
        folder,
        notes={f"{name}.md": f"{NOTE}\nThis is note {name}.\n" for name in NAMES},
        gates={gate: make_gate(gate) for gate in GATES},
    )


class Story:
    """The steps of the story.

    :param do: runs a command by its name and arguments, and `stdin`.
    """

    def __init__(self, root: Path, do: Do) -> None:
        self._root = root
        self._do = do

    def tell(self) -> None:
        """Everything, one after the other."""
        self.reviews_of_all_kinds()
        self.decisions_of_people()
        self.jobs_that_went_wrong()
        self.changes()
        self.jobs_that_are_open()

    def reviews_of_all_kinds(self) -> None:
        """A pass, a warning, a failure, and what cannot be read; from two models."""
        for note, review in {
            "a": PASS, "b": FINDINGS, "c": FAILS, "d": UNDECIDED, "e": ERROR, "moved": FINDINGS,
        }.items():  # fmt: skip
            self.review(note, review)
        self.review("b", FAILS, model="gpt-5.1", partition=OTHER_MODEL)

    def decisions_of_people(self) -> None:
        """A review decided by hand, an override, and what was decided of findings."""
        undecided = self.job_of("d")["pairs"]
        self.do("set_decision", "--review-pair-id", undecided[0]["review_pair_id"],
                "--as", "warn", "--reason", "I read it", "--actor", "human:ana")  # fmt: skip
        self.do("override_acceptance", "--model", PARTITION, "kb/notes/g.md", "prose/x",
                "--reason", "it is an index", "--actor", "human:ana")  # fmt: skip
        findings = self.json("warn_selector")["entries"]
        marks = sorted({item["fingerprint"] for entry in findings for item in entry["findings"]})
        self.do("dispose_finding", marks[0], "--as", "rejected", "--reason", "it has one")
        self.do("dispose_finding", marks[1], "--as", "fixed")

    def jobs_that_went_wrong(self) -> None:
        """A missing pair that came later, one that did not, another model, a replacement."""
        later = self.claimed("f")
        self.ingest(later, PASS, only=1, exit_code=1)
        self.ingest(later, PASS)
        lost = self.claimed("h")
        self.ingest(lost, FINDINGS, only=1, exit_code=1)
        other = self.claimed("a", force=True)
        (self._root / "telemetry.json").write_text(json.dumps({"model": "gpt-5.1"}))
        self.ingest(
            other, PASS, "--telemetry-json", str(self._root / "telemetry.json"), exit_code=1
        )
        replaced = self.claimed("g")
        self.do("recover_review_jobs", replaced["review_job_id"], "--action", "replace")

    def changes(self) -> None:
        """A note that was moved, a small edit that was acked, a larger one that was reviewed."""
        notes = self._root / "kb" / "notes"
        (notes / "moved.md").rename(notes / "there.md")
        self.do("carry_over_acceptances", "kb/notes/moved.md", "kb/notes/there.md")
        write_note(self._root, "a.md", f"{NOTE}\nThis is the note a.\n")
        self.do("ack_gate_review", "--model", PARTITION, "kb/notes/a.md", "prose/x")
        write_note(self._root, "c.md", f"{NOTE}\nIt was written anew.\n")
        self.review("c", PASS)
        outrun = self.claimed("h")
        write_note(self._root, "h.md", f"{NOTE}\nIt was edited while it was being reviewed.\n")
        self.ingest(self.create("h", force=True), PASS)
        self.ingest(outrun, FAILS)
        write_gate(self._root, "prose/y", make_gate("prose/y", body="Asks something else.\n"))

    def jobs_that_are_open(self) -> None:
        """One that waits, and one that is at work."""
        self.claimed("b", force=True)
        self.create("c", force=True)

    def review(
        self,
        note: str,
        review: str,
        *,
        model: str = PARTITION,
        partition: str = PARTITION,
    ) -> None:
        """From the selection to the acceptance."""
        self.ingest(self.claimed(note, model=model, partition=partition), review)

    def claimed(
        self, note: str, *, model: str = PARTITION, partition: str = PARTITION, force: bool = False
    ) -> Any:
        """A job for the stale pairs of a note, claimed."""
        job = self.create(note, partition=partition, force=force)
        self.do("claim_review_job", "--review-job-id", job["review_job_id"], "--runner", "by-hand",
                "--runner-model", model)  # fmt: skip
        return job

    def create(self, note: str, *, partition: str = PARTITION, force: bool = False) -> Any:
        """A job for the pairs of a note; with `force` for the fresh ones too."""
        mode = ("--mode", "requested") if force else ()
        selection = self.do("review_target_selector", "--all-gates", "--note", f"kb/notes/{note}.md",
                            "--model", partition, *mode, "--json").out  # fmt: skip
        made = self.json("create_review_jobs", "--input", "-", "--grouping", "note",
                         *(("--force",) if force else ()), stdin=selection)  # fmt: skip
        (job,) = made["jobs"]
        return job

    def ingest(
        self, job: Any, review: str, *options: str, only: int | None = None, exit_code: int = 0
    ) -> None:
        """Hand in an output as a worker writes it that knows the prompt alone."""
        prompt = (self._root / job["prompt_path"]).read_text(encoding="utf-8")
        names = [match["names"] for match in _PAIR.finditer(prompt)]
        text = output_of(names[:only], review)
        self.do("ingest_bundle_output", "--review-job-id", job["review_job_id"],
                "--input-file", "-", *options, stdin=text, exit_code=exit_code)  # fmt: skip

    def job_of(self, note: str) -> Any:
        """The latest job with a pair of the note."""
        jobs = self.json("review_job_list")["jobs"]
        path = f"kb/notes/{note}.md"
        return [job for job in jobs if any(pair["note_path"] == path for pair in job["pairs"])][-1]

    def json(self, *argv: object, stdin: str | None = None) -> Any:
        """The document that a command prints."""
        return self.do(*argv, "--json", stdin=stdin).json

    def do(self, *argv: object, stdin: str | None = None, exit_code: int = 0) -> Result:
        """Run a command, which must end as it should."""
        done = self._do(*argv, stdin=stdin)
        assert done.exit == exit_code, f"{argv}: {done.exit}\n{done.out}\n{done.err}"
        return done


def output_of(names: Sequence[str], review: str) -> str:
    """One block for each pair, named as in its prompt."""
    return "\n".join(
        f"=== PAIR REVIEW START {name} ===\n{review}\n=== PAIR REVIEW END {name} ===\n"
        for name in names
    )
