"""Strikes a command at one of its writes, and says what is wrong after that and after the next run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.crash.harness import KILLED, Base, Command, Ran, Zygote
from tests.crash.scenarios import Layer, Scenario
from tests.crash.tracing import Moment, Plan

# Files that differ from the store, which can write them again.
_MENDED = "repairable "
# What a command answers that was refused by the machine: failed, or try again.
_REFUSED = (1, 75)
# What a sweep answers whose document names the jobs that the store refused, and why.
_TOLD_OF_PARTS = (4,)
# How a document names what the machine refused, where a command goes on with something else. The last is all
# that can be told of a runner whose own words were refused, on both of its channels.
_REASONS = (
    "disk is full", "No space left", "cannot be read or written", "cannot be opened", "disk I/O error",
    "Input/output error", "read-only", "Read-only", "File too large", "cannot be reached", "is shutting down",
    "exit code 120, without a word",
)  # fmt: skip


@dataclass(frozen=True)
class Reference:
    """What the command does when nobody strikes it: once, and once more."""

    before: dict[str, Any]
    runs: tuple[Ran, Ran]
    after: tuple[dict[str, Any], dict[str, Any]]
    accepted: list[str]


@dataclass
class Bench:
    """One scenario, laid; each strike happens on a copy of it."""

    scenario: Scenario
    zygote: Zygote
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    # What was wrong after each aftermath that differs, which is judged once.
    judged: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Where the scripted runner keeps its books.
        self.env = {"FAKE_BOOKS": str(self.folder), **self.scenario.env} | self.env

    @cached_property
    def base(self) -> Base:
        """The base that the command runs on."""
        root = self.folder / "base"
        root.mkdir(parents=True)
        self.scenario.lay(Layer(self.zygote, root, self.env))
        return Base(root, self.folder)

    @cached_property
    def reference(self) -> Reference:
        """The runs that nobody struck."""
        root = self.base.copy("reference")
        before = self.look(root)
        root = self.base.copy("reference")
        first = self.run(root, self.scenario.command, Plan())
        after = self.look(root, repair=True)
        accepted = self.accepted(root)
        root = self.base.copy("reference")
        self.run(root, self.scenario.command)
        second = self.finish(root)
        return Reference(before, (first, second), (after, self.look(root, repair=True)), accepted)

    @cached_property
    def calls(self) -> tuple[str, ...]:
        """The writing system calls of the command, in order."""
        return self.reference.runs[0].calls

    def run(self, root: Path, command: Command, plan: Plan | None = None) -> Ran:
        """Run a command on `root`."""
        settings = dict(self.scenario.settings)
        return self.zygote.run(root, command, plan, env=self.env, settings=settings)

    def finish(self, root: Path) -> Ran:
        """Run what finishes the work; the last of it counts."""
        return [self.run(root, command) for command in self.scenario.finishing][-1]

    def look(self, root: Path, *, repair: bool = False) -> dict[str, Any]:
        """What is there now."""
        seen: dict[str, Any] = self.zygote.call(root, "judging.look", repair=repair, env=self.env)
        return seen

    def accepted(self, root: Path) -> list[str]:
        """What counts now."""
        found: list[str] = self.zygote.call(root, "judging.accepted", env=self.env)
        return found

    def kill(self, at: int, moment: Moment) -> list[str]:
        """Kill the command at its write of number `at`; what is wrong after that, in words."""
        # Whatever the scenario is made of must be there before the copy is.
        reference = self.reference
        root = self.base.copy("struck")
        struck = self.run(root, self.scenario.command, Plan(at=at, moment=moment))
        faults = self._died(struck)
        return [
            f"{self.scenario.name}, killed {moment} write {at} ({struck.struck}): {fault}"
            for fault in (*faults, *self._judge(root, struck, reference))
        ]

    def refuse(self, at: int, error: int) -> list[str]:
        """Let the disk refuse the write of number `at` and all later ones with an errno."""
        reference = self.reference
        root = self.base.copy("struck")
        plan = Plan(at=at, error=error, below=str(root))
        refused = self.run(root, self.scenario.command, plan)
        what = f"{self.scenario.name}, errno {error} from write {at} on ({refused.struck})"
        return [f"{what}: {fault}" for fault in self.judge_refused(root, refused, reference)]

    def judge_refused(
        self, root: Path, refused: Ran, reference: Reference, *, repair: bool = True
    ) -> list[str]:
        """What is wrong after a run for which there was no room, now that there is room again.

        :param repair: whether a copy is repaired, too; a part of a root that is mounted has none.
        """
        faults = []
        if "Traceback" in refused.err or refused.exit < 0:
            faults.append(f"no refusal, exit {refused.exit}: {refused.err[-1500:]}")
        told = (refused.exit, refused.refusal) == (reference.runs[0].exit, "")
        named = refused.refusal or _names_a_reason(refused)
        allowed = _REFUSED if refused.refusal else (*_REFUSED, *_TOLD_OF_PARTS)
        if not told and (refused.exit not in allowed or not named):
            faults.append(f"exit {refused.exit} {refused.refusal}: {refused.err[-500:]}")
        silent = refused if told else replace(refused, out="")
        return faults + self._judge(root, silent, reference, repair=repair)

    @staticmethod
    def was_complete(ran: Ran, reference: Reference) -> bool:
        """Whether the command did all that it does when nobody strikes it."""
        alike = (ran.exit, ran.refusal) == (reference.runs[0].exit, "")
        return alike and not _names_a_reason(ran)

    def _died(self, struck: Ran) -> list[str]:
        if struck.exit == KILLED:
            return []
        if not struck.struck:
            return []  # it made fewer writes this time
        return [f"it ended with {struck.exit} instead of dying"]

    def _judge(
        self, root: Path, struck: Ran, reference: Reference, *, repair: bool = True
    ) -> list[str]:
        place = Base(root, self.folder).copy("mended") if repair else root
        crashed = self.zygote.call(
            place,
            "judging.look_after_a_strike",
            known=list(self.judged),
            repair=repair,
            env=self.env,
        )
        key = crashed["aftermath"]
        if key not in self.judged:
            faults = self._after_the_crash(crashed, reference)
            faults += [f"after --repair: {item}" for item in crashed["still"]]
            again = self.finish(root)
            self.judged[key] = faults + self._after_the_next(root, crashed, again, reference)
        return self._told_and_not_stored(crashed, struck, reference) + self.judged[key]

    def _told_and_not_stored(
        self, crashed: dict[str, Any], struck: Ran, reference: Reference
    ) -> list[str]:
        after = reference.after[0]
        if not (struck.out.strip() and self.scenario.tells):
            return []
        files = (
            self._other_files(crashed["files"], after["files"]) if self.scenario.of_files else []
        )
        differences = _differences(crashed["store"], after["store"]) + files
        return differences and ["it told its result, and not all of it is stored:", *differences]

    def _after_the_crash(self, crashed: dict[str, Any], reference: Reference) -> list[str]:
        faults = [
            f"the doctor says {item}"
            for item in crashed["doctor"]
            if not item.startswith(("exit ", _MENDED)) and item not in reference.before["doctor"]
        ]
        before, after = reference.before["store"], reference.after[0]["store"]
        # A store that has just been made holds the row that names it, and no other.
        fresh = not before and len(crashed["store"]) <= 1
        if self.scenario.whole and not fresh and crashed["store"] not in (before, after):
            faults += ["the rows are neither those of before nor those of after:"]
            faults += _differences(crashed["store"], after)
        return faults + self._files_too_early(crashed, reference)

    def _files_too_early(self, crashed: dict[str, Any], reference: Reference) -> list[str]:
        """A file is as it was or as it will be, and that of a review is there after its row."""
        if not self.scenario.whole:
            return []
        before, after = reference.before["files"], reference.after[0]["files"]
        torn = [
            f"{name} is neither that of before nor that of after"
            for name, digest in crashed["files"].items()
            if digest not in (before.get(name), after.get(name))
        ]
        if crashed["store"] != reference.before["store"]:
            return torn
        new = set(crashed["files"]) - set(before)
        return torn + [
            f"{name} is there, and no row says so"
            for name in new
            if "/pair-" in name and not _is_named(name, crashed["store"])
        ]

    def _after_the_next(
        self, root: Path, crashed: dict[str, Any], again: Ran, reference: Reference
    ) -> list[str]:
        faults = []
        if "Traceback" in again.err:
            faults.append(f"the next run ends with a traceback: {again.err[-800:]}")
        allowed = {(ran.exit, ran.refusal) for ran in reference.runs}
        if not self.scenario.accepts and (again.exit, again.refusal) not in allowed:
            faults.append(
                f"the next run ends with {again.exit} {again.refusal}: {again.err[-800:]}"
            )
        final = self.look(root, repair=True)
        faults += _unhealthy(final, "after the next run")
        if self.scenario.accepts:
            found = self.accepted(root)
            return faults + ([] if found == reference.accepted else [f"accepted: {found}"])
        return faults + self._unlike(crashed, final, reference)

    def _unlike(
        self, crashed: dict[str, Any], final: dict[str, Any], reference: Reference
    ) -> list[str]:
        once, twice = reference.after
        if not self.scenario.whole:
            wanted = twice if final["store"] == twice["store"] else once
        else:
            wanted = twice if crashed["store"] == once["store"] else once
        faults = []
        if final["store"] != wanted["store"]:
            faults += ["the store is not that of a run nobody struck:"]
            faults += _differences(final["store"], wanted["store"])
        return faults + self._other_files(final["files"], wanted["files"])

    def _other_files(self, found: dict[str, str], wanted: dict[str, str]) -> list[str]:
        missing = set(wanted) - set(found) - set(self.scenario.unmirrored)
        return [
            *(f"{name} is missing" for name in sorted(missing)),
            *(f"{name} is too much" for name in sorted(set(found) - set(wanted))),
            *(
                f"{name} differs from that of a run nobody struck"
                for name, digest in found.items()
                if wanted.get(name, digest) != digest
            ),
        ]


def _names_a_reason(ran: Ran) -> bool:
    """In its document, or for people where it has none."""
    return any(word in ran.out + ran.err for word in _REASONS)


def _is_named(file: str, rows: list[str]) -> bool:
    """Whether a completed pair names it: one that was lost is written again before anything is stored."""
    return any(f"result_path={file!r}" in row for row in rows)


def _unhealthy(seen: dict[str, Any], when: str) -> list[str]:
    return [f"{when}: {item}" for item in seen["doctor"]]


def _differences(found: list[str], wanted: list[str], limit: int = 4) -> list[str]:
    here, there = Counter(found), Counter(wanted)
    return [
        *(f"  too much: {row[:300]}" for row in list((here - there).elements())[:limit]),
        *(f"  missing: {row[:300]}" for row in list((there - here).elements())[:limit]),
    ]
