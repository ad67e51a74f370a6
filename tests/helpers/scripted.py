"""Knowledge bases with a runner that does what a test says: `tests/fakes/scripted.py`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.builders import make_gate, make_root
from tests.helpers.first_stores import own_store

FAKE = Path(__file__).resolve().parents[1] / "fakes" / "scripted.py"
MODEL = "scripted-1"
_COMMAND = json.dumps([sys.executable, "-E", "-S", str(FAKE)])
SETTINGS = f"""
[runners.scripted]
command = {_COMMAND}
model_options = ["--model", "{{model}}"]

edits = true

[runners.reader]
command = {_COMMAND}

[runners.priced]
command = {_COMMAND}
options = ["--priced"]
model_options = ["--model", "{{model}}"]
output = "json"
fields = {{ answer = "answer", model = "model", cost_usd = "cost", input_tokens = "tokens.in", output_tokens = "tokens.out" }}
"""


@dataclass(frozen=True)
class Scripted:
    """A knowledge base, and what the runner does with each of its notes.

    :param store: variables that name another store than the one below the root.
    """

    root: Path
    script: dict[str, object] = field(default_factory=dict)
    seconds: float = 0.0
    cost: float | None = None
    model: str | None = None
    store: dict[str, str] = field(default_factory=dict)

    @property
    def books(self) -> Path:
        """Where the runner keeps its books."""
        return self.root.parent / "books"

    @property
    def env(self) -> dict[str, str]:
        """What the commands' environment needs."""
        said = {"FAKE_COST": self.cost, "FAKE_MODEL": self.model}
        return {
            "FAKE_BOOKS": str(self.books),
            "FAKE_SCRIPT": json.dumps(self.script),
            "FAKE_SECONDS": str(self.seconds),
            **{name: str(value) for name, value in said.items() if value is not None},
            **self.store,
        }

    def calls(self) -> Counter[str]:
        """How often the runner was called for each note."""
        return Counter(
            {
                path.name.removeprefix("calls-").replace("__", "/"): len(
                    path.read_text().splitlines()
                )
                for path in self.books.glob("calls-*")
            }
        )

    def pids(self) -> list[int]:
        """The processes that the runner was called in."""
        return [
            int(line)
            for path in self.books.glob("calls-*")
            for line in path.read_text().splitlines()
        ]

    def blocks(self) -> list[str]:
        """Every block that the runner has written whole."""
        books = self.books / "blocks"
        return (
            [json.loads(line) for line in books.read_text().splitlines()] if books.exists() else []
        )

    def let_go(self) -> None:
        """Let the runs go on that are on hold."""
        (self.books / "go").touch()


def make_scripted(
    folder: Path,
    *,
    notes: int = 3,
    gates: tuple[str, ...] = ("prose/x",),
    settings: str = "",
    **how,
) -> Scripted:
    """A knowledge base below `folder` with notes `n000.md`, `n001.md`, … and the scripted runners.

    :param how: fields of `Scripted`.
    """
    root = folder / "base"
    root.mkdir()
    make_root(
        root,
        notes={
            f"n{number:03d}.md": f"# Note {number}\n\nThe text of note {number}.\n"
            for number in range(notes)
        },
        gates={gate_id: make_gate(gate_id) for gate_id in gates},
        settings=SETTINGS + settings,
    )
    made = Scripted(root, **{"store": own_store(root)} | how)
    made.books.mkdir()
    return made


def note(number: int) -> str:
    """The path of a note that `make_scripted` makes."""
    return f"kb/notes/n{number:03d}.md"


def is_running(pid: int) -> bool:
    """Whether the process is there and not merely unburied."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields[0] not in "ZX"
