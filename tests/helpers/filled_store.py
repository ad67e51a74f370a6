"""Fills a store with rows of every table, odd values among them, without a command: seeded."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from review import models, store
from review.acceptance.accept import rebuild_finding_states
from review.store_copy.copy import temporary_alias

_BEGAN = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
# What two databases, or their drivers, could hand back in another way.
ODD_TEXTS = (
    "",
    "\ufeff# With a BOM\r\nand CRLF\r\n",
    "no newline at the end",
    "trailing spaces  \n\n\n",
    "tab\there, a \\backslash, \\N, \\., '' and \"\"\n",
    "\\.\n",
    "\N{REPLACEMENT CHARACTER} and \u200b\u202e\u2028 and \x01\x1b[31m\x7f\x85",
    "é as one, e\u0301 as two, \U0001f469\u200d\U0001f52c, \U0010ffff\n",
    "{curly} %s %% ? $1 :name ;-- /* */\n",
)
ODD_TELEMETRY: tuple[Any, ...] = (
    None,
    {},
    {"b": 1, "a": [1.5, 0.1, 1e-7, 1e16, -0.25, 10**18, True, None]},
    {"text": "é \U0001f600 \u2028 \\u0000 \"'", "": {"nested": [[], {}, ""]}},
    {"cost_usd": 0.30000000000000004, "big": 12345678901234567890},
)


def make_filled(path: Path, *, seed: int = 0, jobs: int = 12) -> Path:
    """A new SQLite store at `path` with rows in every table."""
    with temporary_alias("filled", str(path), named="the test"):
        store.ensure_store(write=True, using="filled")
        fill("filled", seed=seed, jobs=jobs)
    return path


def fill(using: str, *, seed: int = 0, jobs: int = 12) -> None:
    """Add rows of `jobs` more jobs, of every table, to the store under this alias."""
    rng = random.Random(seed)  # noqa: S311
    _Filler(using, rng).fill(jobs)


class _Filler:
    def __init__(self, using: str, rng: random.Random) -> None:
        self._using = using
        self._rng = rng

    def fill(self, jobs: int) -> None:
        partition = self._objects(models.ModelPartition).get_or_create(name="modell-é@high")[0]
        first = self._objects(models.ReviewStore).allocate_job_ids(jobs)
        gates = [self._snapshot(f"kb/gates/prose/{number}.md") for number in range(3)]
        previous = None
        for number in range(first, first + jobs):
            note = self._snapshot(f"kb/notes/ö {number % 7}.md")
            job = self._job(number, partition, previous)
            previous = job
            for ordinal, gate in enumerate(gates, start=1):
                self._pair(job, ordinal, note, gate, partition)
        rebuild_finding_states(tables=lambda name: self._objects(getattr(models, name)))

    def _objects(self, model: Any) -> Any:
        return model.objects.using(self._using)

    def _moment(self) -> datetime:
        grain = self._rng.choice((1, 1000, 1_000_000))
        return _BEGAN + timedelta(microseconds=self._rng.randrange(10**13) // grain * grain)

    def _snapshot(self, path: str) -> models.FileSnapshot:
        text = self._rng.choice(ODD_TEXTS) + f"{self._rng.randrange(10**9)}"
        kept, _new = self._objects(models.KbPath).get_or_create(path=path)
        made: models.FileSnapshot = self._objects(models.FileSnapshot).create(
            path=kept,
            content_sha256=sha256(text.encode()).hexdigest(),
            byte_size=len(text.encode()),
            captured_at=self._moment(),
            text=text,
        )
        return made

    def _job(
        self, number: int, partition: models.ModelPartition, previous: models.ReviewJob | None
    ) -> models.ReviewJob:
        is_open = number % 4 == 0
        failed = {"failure_code": "operator", "failure_reason": self._rng.choice(ODD_TEXTS) or "?"}
        job: models.ReviewJob = self._objects(models.ReviewJob).create(
            pk=number,
            model_partition=partition,
            status="running" if is_open else "failed",
            grouping="note",
            lens="prose",
            sentinel_token=f"{number:08x}",
            prompt_path="p",
            bundle_output_path="b",
            prompt_sha256="0" * 64,
            estimated_prompt_tokens=number,
            pair_count=3,
            created_at=self._moment(),
            started_at=self._moment(),
            parent_pid=2**40 + number,
            completed_at=None if is_open else self._moment(),
            telemetry=self._rng.choice(ODD_TELEMETRY),
            replaces=previous if number % 5 == 0 else None,
            **({} if is_open else failed),
        )
        self._objects(models.JobEvent).create(
            job=job, from_status="", to_status="queued", actor="human:é", at=self._moment()
        )
        self._objects(models.JobOutput).create(
            job=job,
            content_sha256=f"{number:064x}",
            raw=self._rng.randbytes(200),
            at=self._moment(),
        )
        return job

    def _pair(
        self,
        job: models.ReviewJob,
        ordinal: int,
        note: models.FileSnapshot,
        gate: models.FileSnapshot,
        partition: models.ModelPartition,
    ) -> None:
        what = {"note_id": note.path_id, "gate_id": gate.path_id}
        what |= {"note_snapshot_id": note.pk, "gate_snapshot_id": gate.pk}
        pair = self._objects(models.ReviewPair).create(
            job=job, ordinal=ordinal, status="completed", decision="warn",
            decision_source="result-line", reviewed_at=self._moment(), **what,
        )  # fmt: skip
        self._objects(models.ReviewText).create(pair=pair, text=self._rng.choice(ODD_TEXTS))
        fingerprint = f"{self._rng.getrandbits(64):016x}"
        self._objects(models.Finding).create(
            pair=pair, ordinal=1, severity="warn", text=self._rng.choice(ODD_TEXTS),
            quote=self._rng.choice(ODD_TEXTS), fingerprint=fingerprint,
        )  # fmt: skip
        self._objects(models.Disposition).create(
            fingerprint=fingerprint, state="deferred", actor="human:a", at=self._moment()
        )
        self._objects(models.DecisionEvent).create(
            pair=pair, decision="warn", actor="human:a", reason="read it", at=self._moment()
        )
        event = self._objects(models.Acceptance).create(
            model_partition=partition, kind="full-review", review_pair=pair, decision="warn",
            text_read_at=self._moment(), actor="agent:x", accepted_at=self._moment(), **what,
        )  # fmt: skip
        self._objects(models.CurrentAcceptance).update_or_create(
            model_partition=partition, note_id=note.path_id, gate_id=gate.path_id,
            defaults={
                "event": event, "note_snapshot": note, "gate_snapshot": gate, "decision": "warn",
            },
        )  # fmt: skip
