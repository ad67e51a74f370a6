"""The operations of a storm: real commands over what the store and the disk hold at the moment."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.races.base import GATES, PARTITIONS, moved_path, note_path
from tests.races.books import ANY, Act
from tests.races.reviews import output_of
from tests.races.running import Runner

DONE = (0,)
MAY_CONFLICT = (0, 4, 5)
CLAIM = (0, 3, 4)
INGEST = (0, 1, 4, 5)
BACKUP = (0, 2)


class Acts:
    """What one process does; each method is one act and fills in what was reported."""

    def __init__(self, root: Path, runner: Runner, rng: random.Random, *, notes: int) -> None:
        self._root = root
        self._runner = runner
        self._rng = rng
        self._notes = notes

    def every(self) -> list[tuple[int, Callable[[Act], None]]]:
        """Each act with its weight."""
        return [
            (8, self.select), (14, self.create), (10, self.claim_next), (6, self.claim_one),
            (14, self.write_output), (16, self.ingest), (3, self.ingest_file), (8, self.ack),
            (4, self.ack_input), (4, self.ack_trivial), (4, self.override), (6, self.decide),
            (6, self.dispose), (4, self.recover), (3, self.rules), (3, self.carry),
            (3, self.read), (1, self.doctor), (1, self.back_up), (1, self.spoil_cache),
        ]  # fmt: skip

    # -- choosing --------------------------------------------------------------------------

    def _note(self) -> str:
        return note_path(self._rng.randrange(self._notes))

    def _model(self) -> str:
        return self._rng.choice(PARTITIONS)

    def _jobs(self, *statuses: str, latest: int = 6) -> list[int]:
        from review.models import ReviewJob

        jobs = ReviewJob.objects.filter(status__in=statuses).order_by("-pk")
        found = list(jobs.values_list("pk", flat=True)[:latest])
        self._rng.shuffle(found)
        return found

    def _run(self, act: Act, name: str, *args: object, **how: Any) -> Any:
        return self._runner.run(act, name, *args, **how)

    # -- jobs ------------------------------------------------------------------------------

    def select(self, act: Act) -> None:
        scope: Sequence[object] = self._rng.choice(
            [("--all-gates",), ("--all-gates", "--note", "kb/notes"), (GATES[0],), ("prose",)]
        )
        how = self._rng.choice([(), ("--no-cache",), ("--mode", "requested"), ("--skip-trivial",)])
        self._targets(act, *scope, "--model", self._model(), *how)

    def _targets(self, act: Act, *args: object) -> Any:
        found = self._run(act, "review_target_selector", *args, allowed=DONE)
        if found is not None:
            named = {(item["note_path"], item["note_sha256"]) for item in found["targets"]}
            act.texts += sorted(named)
        return found

    def create(self, act: Act) -> None:
        # Of the whole base: which targets are taken is left to luck, and to the others.
        selected = self._targets(act, "--all-gates", "--model", self._model())
        if not selected or not selected["targets"]:
            return
        size = min(len(selected["targets"]), self._rng.randint(1, 5))
        selected["targets"] = self._rng.sample(selected["targets"], size)
        args: list[object] = ["--input", "-", "--grouping", self._rng.choice(["note", "gate"])]
        if self._rng.random() < 0.1:
            args.append("--force")
        made = self._run(
            act, "create_review_jobs", *args, stdin=json.dumps(selected), allowed=(0, 5)
        )
        if made is not None:
            act.jobs = [job["review_job_id"] for job in made["jobs"]]
        act.rows["created"] = len(act.jobs)

    def claim_next(self, act: Act) -> None:
        args: list[object] = ["--next", "--limit", self._rng.choice([1, 1, 2, 4])]
        args += ["--runner", "storm", "--model-partition", self._model()]
        self._claim(act, *args)

    def claim_one(self, act: Act) -> None:
        if jobs := self._jobs("queued", "running"):
            self._claim(act, "--review-job-id", jobs[0], "--runner", "storm")

    def _claim(self, act: Act, *args: object) -> None:
        claimed = self._run(act, "claim_review_job", *args, allowed=CLAIM)
        if claimed is not None:
            act.jobs = [job["review_job_id"] for job in claimed["jobs"]]
        act.rows["claimed"] = len(act.jobs)

    def write_output(self, act: Act) -> None:
        """A worker is done, or done with some; several write for one job."""
        from review.models import ReviewJob

        for job_id in self._jobs("running", "running", "failed")[:3]:
            path = ReviewJob.objects.values_list("bundle_output_path", flat=True).get(pk=job_id)
            file = self._root / path
            draft = file.with_name(f".{os.getpid()}.draft")
            if file.parent.is_dir():
                draft.write_bytes(output_of(job_id, only_some=self._rng.random() < 0.4))
                draft.replace(file)

    def ingest(self, act: Act) -> None:
        jobs = self._jobs("queued", "running", "running", "failed", "completed")[:4]
        if not jobs:
            return
        args: list[object] = ["--review-job-id", *jobs]
        if self._rng.random() < 0.2:
            args = ["--ready", "--all-actors"]
        if self._rng.random() < 0.1:
            args.append("--all-or-nothing")
        self._ingested(act, *args)

    def ingest_file(self, act: Act) -> None:
        """An output that was written somewhere else."""
        jobs = self._jobs("queued", "running", "failed")
        if jobs:
            data = output_of(jobs[0], only_some=self._rng.random() < 0.4).decode()
            self._ingested(act, "--review-job-id", jobs[0], "--input-file", "-", stdin=data)

    def _ingested(self, act: Act, *args: object, **how: Any) -> None:
        done = self._run(act, "ingest_bundle_output", *args, allowed=INGEST, **how)
        jobs = [] if done is None else done["jobs"]
        for job in jobs:
            act.jobs.append(job["review_job_id"])
            pairs = [pair["review_pair_id"] for pair in job["pairs"] if pair["accepted"]]
            act.accepted += pairs
        act.rows["closed"] = len(jobs)

    def recover(self, act: Act) -> None:
        action = self._rng.choice(["list", "ingest", "ingest", "fail", "replace"])
        args: list[object] = ["--action", action, "--older-than", "1s"]
        jobs = self._jobs("running", "running", "failed", latest=40)[-2:]
        if action != "list":
            args += jobs or ["1"]
        done = self._run(act, "recover_review_jobs", *args, allowed=INGEST)
        if done is None or action == "list":
            return
        act.jobs = [item["review_job_id"] for item in done["done"]]
        act.rows["closed"] = len(act.jobs)
        act.rows["created"] = sum(bool(item["replaced_by"]) for item in done["done"])

    def rules(self, act: Act) -> None:
        args = ("--all-gates", "--rules-only", "--model", "rules", "--limit", 4)
        selected = self._targets(act, *args)
        create = ("create_review_jobs", "--input", "-", "--grouping", "gate")
        made = self._run(act, *create, stdin=json.dumps(selected), allowed=(0, 5))
        act.rows["created"] = 0 if made is None else len(made["jobs"])
        done = self._run(act, "run_review_jobs", "--all", "--runner", "rules", allowed=INGEST)
        found = [] if done is None else done["jobs"]
        # A claimed one may have been ingested by somebody else before this one came to it.
        act.rows["claimed"] = act.rows["closed"] = ANY
        act.accepted = [
            pair["review_pair_id"] for job in found for pair in job["pairs"] if pair["accepted"]
        ]

    # -- acceptances -----------------------------------------------------------------------

    def ack(self, act: Act) -> None:
        args: list[object] = ["--model", self._model(), self._note(), self._rng.choice(GATES)]
        if self._rng.random() < 0.5:
            args.append("--accept-gate-change")
        self._acked(act, "ack_gate_review", *args)

    def ack_input(self, act: Act) -> None:
        selected = self._targets(act, "--all-gates", "--model", self._model())
        if not selected:
            return
        changed = [item for item in selected["targets"] if item["reason"] != "missing-review"]
        selected["targets"] = changed[: self._rng.randint(1, 8)]
        self._acked(act, "ack_gate_review", "--input", "-", stdin=json.dumps(selected))

    def ack_trivial(self, act: Act) -> None:
        self._acked(act, "ack_trivial_changes", "--all-gates", "--model", self._model())

    def _acked(self, act: Act, name: str, *args: object, **how: Any) -> None:
        done = self._run(act, name, *args, allowed=MAY_CONFLICT, **how)
        act.rows["acked"] = 0 if done is None else len(done["acked"])

    def override(self, act: Act) -> None:
        pair = ("--model", self._model(), self._note(), self._rng.choice(GATES))
        words = ("--reason", "fine", "--actor", act.actor)
        done = self._run(act, "override_acceptance", *pair, *words, allowed=MAY_CONFLICT)
        act.rows["overridden"] = 0 if done is None else len(done["overridden"])

    def decide(self, act: Act) -> None:
        from review.models import ReviewPair

        latest = ReviewPair.objects.completed().order_by("-pk")
        pairs = list(latest.values_list("pk", flat=True)[:30]) or [1]
        word = self._rng.choice(["pass", "warn", "fail"])
        args = ("--review-pair-id", self._rng.choice(pairs), "--as", word)
        words = ("--reason", "read it", "--actor", act.actor)
        done = self._run(act, "set_decision", *args, *words, allowed=MAY_CONFLICT)
        act.rows["decided"] = 0 if done is None else 1
        # What rests on the review takes the decision too, as what it is.
        act.rows |= dict.fromkeys(["acked", "overridden", "carried"], ANY)
        if done is not None and done["accepted"]:
            act.accepted = [done["review_pair_id"]]

    def carry(self, act: Act) -> None:
        number = self._rng.randrange(self._notes)
        paths = [note_path(number), moved_path(number)]
        self._rng.shuffle(paths)
        done = self._run(act, "carry_over_acceptances", *paths, allowed=MAY_CONFLICT)
        carried = [] if done is None else done["carried"]
        act.rows["carried"] = sum(item["review_pair_id"] is not None for item in carried)

    # -- findings --------------------------------------------------------------------------

    def dispose(self, act: Act) -> None:
        from review.models import Finding

        marks = list(Finding.objects.order_by("-pk").values_list("fingerprint", flat=True)[:20])
        if not marks:
            return
        word = self._rng.choice(["fixed", "rejected", "deferred", "open"])
        args = (self._rng.choice(marks), "--as", word, "--reason", "so be it")
        done = self._run(act, "dispose_finding", *args, allowed=(0, 5))
        act.rows["disposed"] = 0 if done is None else 1

    # -- the rest --------------------------------------------------------------------------

    def read(self, act: Act) -> None:
        # (the command, what it takes, and how it may end while files come and go)
        name, args, allowed = self._rng.choice(
            [
                ("warn_selector", (), DONE),
                ("review_status", (), DONE),
                ("review_job_list", (), DONE),
                ("fix_prompt", (self._note(),), (0, 3, 5)),
                ("render_review", ("--note", self._note()), (0, 5)),
                ("resolve_gates", ("--note", self._note()), (0, 5)),
                ("export_reviews", ("--format", "csv"), DONE),
            ]
        )
        self._run(act, name, *args, allowed=allowed)

    def doctor(self, act: Act) -> None:
        """What it finds wrong while everything moves is looked at, and is a fault."""
        args = self._rng.choice([(), ("--repair",), ("--check",)])
        done = self._run(act, "review_doctor", *args, allowed=(0, 1))
        found = [] if done is None else done["checks"]
        wrong = [check for check in found if check["state"] == "problem"]
        if wrong:
            act.fault = f"review_doctor {args}: {json.dumps(wrong)[:3000]}"

    def back_up(self, act: Act) -> None:
        """A backup is a whole store, whoever writes meanwhile; a server's own way is named."""
        target = self._root.parent / f"backup-of-{act.actor}.sqlite"
        self._run(act, "review_doctor", "--backup", target, allowed=BACKUP)
        if act.exit == 0:
            with closing(sqlite3.connect(target)) as backup:
                (said,) = backup.execute("PRAGMA integrity_check").fetchone()
                broken = backup.execute("PRAGMA foreign_key_check").fetchall()
            if said != "ok" or broken:
                act.fault = f"a backup with {said}, {broken}"
            target.unlink()

    def spoil_cache(self, act: Act) -> None:
        """Take the file index away, or write noise over it."""
        from review import settings

        index = settings.current().index_path
        if self._rng.random() < 0.5:
            index.unlink(missing_ok=True)
        elif index.parent.is_dir():
            index.write_bytes(self._rng.randbytes(300))
