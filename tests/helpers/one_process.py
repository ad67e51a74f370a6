"""Calls every command, one after the other, in one process: `python -m tests.helpers.one_process ROOT`.

The story first, then what it does not call. Prints the names of the commands that were called.
"""

from __future__ import annotations

import io
import json
import sys
from importlib import import_module
from pathlib import Path

from commonplace_site.loading import CLI_SETTINGS, load_apps
from tests.builders import make_gate, write_gate
from tests.helpers.commands import PROGRAM, Result
from tests.helpers.story import Story

_RULES = ("--runner", "rules", "--model", "rules", "--json")


class Caller:
    """Runs commands as the console does, and remembers which."""

    def __init__(self) -> None:
        self.called: set[str] = set()

    def __call__(self, *argv: object, stdin: str | None = None) -> Result:
        name, *arguments = map(str, argv)
        out, err = io.StringIO(), io.StringIO()
        command = import_module(f"review.management.commands.{name}").Command(out, err)
        stream = None if stdin is None else io.BytesIO(stdin.encode())
        self.called.add(name)
        code = command.answer([PROGRAM, name, *arguments], stdin=stream)
        return Result(code, out.getvalue(), err.getvalue())


def main(root: Path) -> None:
    """Call them all."""
    load_apps(CLI_SETTINGS)
    do = Caller()
    story = Story(root, do)
    story.tell()
    write_gate(root, "rule/titled", make_gate("rule/titled", rule="duplicate-headings"))
    cases = root / "kb/instructions/review-gates/rule/titled.cases"
    cases.mkdir()
    (cases / "one.md").write_text("---\nexpect: flag\n---\n\n# One\n")
    (job,) = do("review_job_list", "--status", "running", "--json").json["jobs"][-1:]
    for argv in (
        ("resolve_gates", "--note", "kb/notes/a.md"),
        ("review_init", "--into", str(root), "--dry-run"),
        ("ack_trivial_changes", "--model", "claude-opus-4-6", "--all-gates"),
        ("render_review", "--note", "kb/notes/b.md"),
        ("fix_prompt", "kb/notes/b.md"),
        ("export_reviews", "--format", "markdown"),
        ("export_reviews", "--format", "csv"),
        ("run_gate_sweep", "rule/titled", *_RULES),
        ("review_sweep", "--all-gates", *_RULES),
        ("run_review_jobs", "--all", "--runner", "rules"),
        ("recover_review_jobs", "--action", "fail", str(job["review_job_id"])),
        ("review_status", "--json"),
        ("reread_reviews",),
        ("next_review_job", "--runner", "r"),
        ("review_batches",),
        ("review_calibration", "--agreement"),
        ("review_check", "--all-gates"),
        ("review_gate_seed", "rule/titled", "--note", "kb/notes/a.md"),
        ("review_gate_test", "rule/titled", "--model", "m"),
        ("review_doctor", "--repair"),
        ("review_store_copy", "--to", str(root / "copy.sqlite"), "--json"),
    ):
        done = do(*argv)
        assert done.exit in (0, 3), f"{argv}: {done.exit}\n{done.out}\n{done.err}"
    sys.stdout.write(json.dumps(sorted(do.called)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
