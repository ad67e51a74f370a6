"""The commands that are struck, each with the base that it runs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from review.domain.finding_identity import KnownFinding, choose_fingerprints
from tests.builders import NOTE, PARTITION, PASS, gate_path, make_gate, make_root, write_note
from tests.crash.harness import Command, Zygote
from tests.helpers.reviewed import FAIL, UNDECIDED, WARN

RULE_GATE = make_gate("sentence/twice", rule="repeated-words", watches="[body]")
SELECTION = "selection.json"
_MODEL = ("--model", PARTITION)
_SELECT = ("review_target_selector", "--all-gates", *_MODEL, "--json", "--no-cache")


class Layer:
    """Lays one base with real commands."""

    def __init__(self, zygote: Zygote, root: Path, env: Mapping[str, str]) -> None:
        self._zygote = zygote
        self._env = dict(env)
        self.root = root

    def run(self, *argv: str, stdin: str = "", exits: tuple[int, ...] = (0,)) -> str:
        """Run a command that must succeed; its standard output."""
        ran = self._zygote.run(self.root, Command(argv, stdin), env=self._env)
        assert ran.exit in exits, f"{argv}: exit {ran.exit}\n{ran.err}"
        return ran.out

    def call(self, function: str, **arguments: Any) -> Any:
        """Call a function of `tests.crash.laying`."""
        return self._zygote.call(self.root, f"laying.{function}", env=self._env, **arguments)

    def select(self, *options: str) -> None:
        """Write a selection for the next command to read."""
        (self.root / SELECTION).write_text(self.run(*_SELECT, *options))

    def create(self, *options: str) -> None:
        """Jobs for everything that is stale."""
        self.select(*options)
        self.run("create_review_jobs", "--input", "-", "--grouping", "note", stdin=SELECTION)

    def output(self, job_id: int, *reviews: str, **others: Any) -> None:
        """A worker's output for a job."""
        self.call("write_output", job_id=job_id, reviews=list(reviews or (WARN,)), **others)

    def review(self) -> None:
        """Two notes reviewed by two gates each: warnings, and one review that decides nothing."""
        self.create("--note", "kb/notes/a.md", "--note", "kb/notes/b.md")
        self.output(1, WARN, PASS)
        self.output(2, WARN, UNDECIDED)
        self.run("ingest_bundle_output", "--ready", "--all-actors", "--json")


@dataclass(frozen=True)
class Scenario:
    """A command, and what must be true when it is run again after it was struck.

    :param whole: its rows come all together or not at all.
    :param again: what finishes the work; the command itself, unless it says otherwise.
    :param accepts: what counts in the end are the acceptances, not how they came about.
    :param unmirrored: files that the store cannot write again.
    :param every: of a row of writes to one file only every so many are struck, and the ends.
    :param repeats: the command does the same with file after file: the first and last two dozen writes are
        struck, and every so many between.
    :param tells: what it prints is its result, and not how far it is.
    :param of_files: what it says is done are files, which the store cannot tell.
    :param env: variables of its runs, and of the runs that lay its base.
    """

    name: str
    lay: Callable[[Layer], None]
    command: Command
    whole: bool = True
    again: tuple[Command, ...] = ()
    accepts: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    unmirrored: tuple[str, ...] = ()
    every: int = 1
    repeats: int = 1
    tells: bool = True
    of_files: bool = False
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def finishing(self) -> tuple[Command, ...]:
        """The commands of the second run."""
        return self.again or (self.command,)


def knowledge_base(root: Path) -> Path:
    """Three notes, and two gates that a model judges."""
    gates = {"prose/x": make_gate("prose/x"), "prose/y": make_gate("prose/y", watches="[title]")}
    return make_root(root, notes={"a.md": NOTE, "b.md": NOTE, "c.md": NOTE}, gates=gates)


def _nothing(layer: Layer) -> None:
    knowledge_base(layer.root)


def selected(layer: Layer) -> None:
    """Three notes, and a selection of all that is stale."""
    _nothing(layer)
    layer.run("review_job_list")
    layer.select()


def _without_store(layer: Layer) -> None:
    selected(layer)
    layer.call("forget_store")
    for file in (layer.root / "kb" / "reports").glob("*"):
        file.unlink()


def _queued(layer: Layer) -> None:
    _nothing(layer)
    layer.create()


def _written(layer: Layer) -> None:
    _queued(layer)
    layer.run("claim_review_job", "--review-job-id", "1", "--runner", "r")
    layer.output(1, WARN, FAIL)


def _written_elsewhere(layer: Layer) -> None:
    _queued(layer)
    layer.output(1, WARN, PASS, to="answer.md")


def _written_in_part(layer: Layer) -> None:
    _queued(layer)
    layer.output(1, WARN, only=[1])


def _written_later(layer: Layer) -> None:
    _written_in_part(layer)
    layer.run("ingest_bundle_output", "--review-job-id", "1", exits=(1,))
    layer.output(1, WARN, PASS)


def _two_written(layer: Layer) -> None:
    _queued(layer)
    layer.output(1, WARN, PASS)
    layer.output(2, PASS, FAIL)


def reviewed(layer: Layer) -> None:
    """Two notes that were reviewed."""
    _nothing(layer)
    layer.review()


def edited(layer: Layer) -> None:
    """The same, changed since, and a selection of that."""
    reviewed(layer)
    for name in ("a.md", "b.md"):
        write_note(layer.root, name, f"{NOTE}\nAnd one line more.\n")
    layer.select("--reason", "note-changed")


def _moved(layer: Layer) -> None:
    reviewed(layer)
    layer.run("dispose_finding", _FOUND, "--as", "deferred", "--actor", "human:ana")
    notes = layer.root / "kb" / "notes"
    (notes / "old").mkdir()
    (notes / "a.md").rename(notes / "moved.md")


def _given_up(layer: Layer) -> None:
    _written_in_part(layer)
    layer.run("claim_review_job", "--next", "--limit", "2", "--runner", "r")


def _damaged(layer: Layer) -> None:
    reviewed(layer)
    layer.call("damage")


def _ruled(layer: Layer) -> None:
    make_root(
        layer.root,
        notes={"a.md": "# A\n\nThe the words.\n", "b.md": "# B\n\nAll is well.\n"},
        gates={"sentence/twice": RULE_GATE},
    )
    layer.run("review_job_list")
    line = (*_SELECT[:2], "--model", "rules", "--json", "--no-cache")
    (layer.root / SELECTION).write_text(layer.run(*line))
    layer.run("create_review_jobs", "--input", "-", "--grouping", "note", stdin=SELECTION)


def _empty(layer: Layer) -> None:
    _nothing(layer)
    layer.run("review_job_list")
    (layer.root / "new").mkdir()


def line(text: str, *more: str, stdin: str = "") -> Command:
    """A command that answers with a document."""
    return Command((*text.split(), *more, "--json"), stdin)


_CREATE = line("create_review_jobs --input - --grouping note", stdin=SELECTION)
_INGEST = line("ingest_bundle_output --review-job-id 1")
RULES = line("run_review_jobs --all --runner rules --actor human:ana")
_REPAIR = line("review_doctor --repair")
(_FOUND,) = choose_fingerprints(
    note_path="kb/notes/a.md",
    gate_path=gate_path("prose/x"),
    note_text=NOTE,
    reported=[KnownFinding("", quote="A reader finds a note by its title", text="")],
    earlier=[],
)
_BY = ("--reason", "it is so", "--actor", "human:ana")

SCENARIOS = (
    # Making the tables takes most of a second, and until they are published they are nobody's.
    Scenario("first-store", _without_store, _CREATE, every=5),
    Scenario("create", selected, _CREATE),
    Scenario(
        "create-in-turns", selected, _CREATE, whole=False,
        settings={"review.jobs.create.JOBS_PER_TRANSACTION": 1},
    ),
    Scenario("claim", _queued, line("claim_review_job --review-job-id 1 --runner r")),
    Scenario("claim-next", _queued, line("claim_review_job --next --runner r"), accepts=True),
    Scenario("ingest", _written, _INGEST),
    Scenario("ingest-a-file", _written_elsewhere,
             line("ingest_bundle_output --review-job-id 1 --input-file answer.md --runner r"),
             unmirrored=("kb/reports/bundle-reviews/review-job-1/bundle-output.md",)),
    Scenario("ingest-in-part", _written_in_part, _INGEST),
    Scenario("ingest-all-or-nothing", _written_in_part,
             line("ingest_bundle_output --review-job-id 1 --all-or-nothing")),
    Scenario("ingest-later", _written_later, _INGEST),
    Scenario("ingest-ready", _two_written, line("ingest_bundle_output --ready --all-actors"), whole=False),
    Scenario("ack", edited, line("ack_gate_review", *_MODEL, "kb/notes/a.md", "prose/x", "prose/y")),
    Scenario("ack-a-selection", edited, line("ack_gate_review --input -", stdin=SELECTION), whole=False),
    Scenario("ack-trivial", edited, line("ack_trivial_changes --all-gates", *_MODEL), whole=False),
    Scenario("carry-over", _moved, line("carry_over_acceptances kb/notes/a.md kb/notes/moved.md")),
    Scenario("override", edited, line("override_acceptance", *_MODEL, "kb/notes/a.md", "prose/x", *_BY)),
    Scenario("set-decision", reviewed, line("set_decision --review-pair-id 4 --as fail", *_BY)),
    Scenario("dispose", reviewed, line("dispose_finding", _FOUND, "--as", "rejected", *_BY)),
    Scenario("recover-ingest", _given_up, line("recover_review_jobs --action ingest 1")),
    Scenario("recover-fail", _given_up, line("recover_review_jobs --action fail 1")),
    Scenario("recover-replace", _given_up, line("recover_review_jobs --action replace 1")),
    Scenario("repair", _damaged, _REPAIR),
    Scenario("prune", reviewed, line("review_doctor --prune --yes"), accepts=True),
    # One file after the other is made in the same five calls.
    Scenario("init", _empty, line("review_init --into new"), repeats=7, of_files=True),
    Scenario("rules", _ruled, RULES, whole=False, accepts=True,
             again=(line("recover_review_jobs --action replace"), RULES)),
)  # fmt: skip
