"""Give notes with open findings to a runner that may edit a copy, and show or apply its edits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from review.documents.base import timestamp
from review.domain.diffs.words import unified_diff
from review.errors import ReviewError
from review.job_files import ArtifactNotWritten, FixRecord
from review.knowledge_base import Corpus, NoteText
from review.knowledge_base.note_writer import NoteNotWritten, replace_note
from review.knowledge_base.resolver import read_linked_files
from review.models import Provenance
from review.protocol.telemetry import Usage, read_usage
from review.queue.entries import read_warn_queue
from review.queue.fix_prompt import NothingToFix, make_fix_prompt
from review.queue.queue import QueueFilter
from review.runners.outcome import RunnerOutcome
from review.runners.registry import RunnerSpec
from review.runners.run import RunRequest, run_cli, scratch_folder
from review.selection.path_filters import named_places
from review.settings.config import Config
from review.sweeps.feeder import Limits, StopPolicy, StopReason
from review.sweeps.progress import FixJson

PLANNED, CHANGED, APPLIED, UNCHANGED = "planned", "changed", "applied", "unchanged"
FAILED, REFUSED = "failed", "refused"


@dataclass(frozen=True)
class FixSweep:
    """The notes to fix, the runner, and its limits.

    :param notes: files and folders; none is every note with an open finding.
    :param gates: only notes of which these gates found something; the prompt has all findings.
    :param slots: how many at once.
    :param apply: whether to write what changed; else it is shown only.
    :param clock: read when something happens, for the record.
    """

    spec: RunnerSpec
    provenance: Provenance
    limits: Limits
    timeout: timedelta
    clock: Callable[[], datetime]
    notes: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    slots: int = 1
    apply: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Fixed:
    """The result of each note, sorted by path; `policy` says why it ended early, if it did.

    :param record: the log file of the run, relative to the root; None if none was begun.
    """

    notes: tuple[FixJson, ...]
    usages: tuple[Usage, ...]
    policy: StopPolicy
    record: str | None = None


@dataclass(frozen=True)
class _Draft:
    note: NoteText
    prompt: str
    fingerprints: list[str]
    reading: dict[str, bytes]


def fix_notes(request: FixSweep, *, corpus: Corpus, config: Config, stop: threading.Event) -> Fixed:
    """Have the notes fixed, each in its own copy; findings stay open until a new review.

    :raises NoSuchNote, UnknownGate: a name does not resolve.
    :raises ArtifactNotWritten: it cannot be recorded; no note is given to a runner.
    """
    paths = named_places(corpus, request.notes, root=str(config.root))
    queue = QueueFilter(notes=paths, gates=request.gates)
    entries = read_warn_queue(corpus, queue).entries
    waiting = deque(dict.fromkeys(entry.note_path for entry in entries))
    policy = StopPolicy(limits=request.limits, stop=stop, slots=request.slots)
    if request.dry_run or not waiting:
        planned = [
            FixJson(note_path=path, outcome=PLANNED, reason=None) for path in sorted(waiting)
        ]
        return Fixed(tuple(planned), (), policy)
    record = FixRecord(config, started=request.clock())
    work = _Work(request, corpus, config, policy, waiting, record)
    provenance = request.provenance
    record.add(
        "begin",
        {
            "at": timestamp(request.clock()),
            "actor": config.actor,
            "runner": request.spec.name,
            "runner_model": provenance.runner_model,
            "runner_effort": provenance.runner_effort,
            "apply": request.apply,
            "gates": request.gates,
            "notes": sorted(waiting),
        },
    )
    with ThreadPoolExecutor(max_workers=request.slots) as pool:
        try:
            work.go(pool)
        except BaseException:
            stop.set()
            raise
    # A limit that was reached with the last note has cut nothing off.
    if not waiting and policy.reason is StopReason.MAX_JOBS:
        policy.reason = None
    work.log("end", {"stopped": policy.reason, "because": policy.because})
    notes = sorted(work.notes, key=lambda note: note.note_path)
    path = record.path.relative_to(config.root).as_posix()
    return Fixed(tuple(notes), tuple(work.usages), policy, path)


@dataclass
class _Work:
    request: FixSweep
    corpus: Corpus
    config: Config
    policy: StopPolicy
    waiting: deque[str]
    record: FixRecord
    notes: list[FixJson] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    def go(self, pool: ThreadPoolExecutor) -> None:
        """Run until no note waits, or none may be begun any more."""
        under_way: dict[Future[RunnerOutcome], _Draft] = {}
        drafts = self._drafts()
        while True:
            while len(under_way) < self.request.slots and self.policy.may_start(len(under_way)):
                draft = next(drafts, None)
                if draft is None:
                    break
                details = {"note_path": draft.note.path, "note_sha256": draft.note.sha256}
                self.log("handed-out", {**details, "fingerprints": draft.fingerprints})
                under_way[pool.submit(self._run, draft)] = draft
            if not under_way:
                return
            done, _others = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                self._settle(under_way.pop(future), future.result())

    def _drafts(self) -> Iterator[_Draft]:
        """Each note with its prompt, as both are when its turn comes."""
        root = str(self.config.root)
        while self.waiting:
            path = self.waiting.popleft()
            try:
                document = make_fix_prompt(self.corpus, path, root=root)
                note = self.corpus.read_note(path)
            except NothingToFix:
                continue
            except ReviewError as refused:
                self._add(FixJson(note_path=path, outcome=REFUSED, reason=refused.message))
                continue
            linked = read_linked_files([(path, note.text)], linker=self.corpus.linker, root=root)
            reading = linked | {path: note.data}
            yield _Draft(note, document.prompt or "", document.fingerprints, reading)

    def _run(self, draft: _Draft) -> RunnerOutcome:
        provenance = self.request.provenance
        with ExitStack() as folders:
            run_request = RunRequest(
                spec=self.request.spec,
                prompt=draft.prompt.encode(),
                scratch=folders.enter_context(scratch_folder()),
                files=folders.enter_context(scratch_folder()),
                output=draft.note.path,
                model=provenance.runner_model,
                effort=provenance.runner_effort,
                timeout=self.request.timeout.total_seconds(),
                reading=draft.reading,
                edits=True,
            )
            return run_cli(run_request, stop=self.policy.stop)

    def _settle(self, draft: _Draft, outcome: RunnerOutcome) -> None:
        """Check what came back, and apply it if asked to."""
        usage, failure = read_usage(outcome.telemetry), outcome.failure
        self.usages.append(usage)
        code, reason = (failure.code, failure.reason) if failure else (None, "no note came back")
        self.policy.note(usage, failure=failure, code=code, reason=reason)
        answer = FixJson(
            note_path=draft.note.path,
            outcome=FAILED,
            reason=reason,
            fingerprints=draft.fingerprints,
            said=outcome.said,
            cost_usd=usage.cost_usd,
        )
        if failure is None and outcome.text is not None:
            try:
                answer.outcome = self._apply(draft, outcome.text, answer)
                answer.reason = None
            # What could not be put into the note was paid for: it is shown.
            except ReviewError as refused:
                answer.outcome = FAILED if isinstance(refused, NoteNotWritten) else REFUSED
                answer.reason = refused.message
        self._add(answer)

    def _apply(self, draft: _Draft, text: bytes, answer: FixJson) -> str:
        diff = unified_diff(
            draft.note.text, NoteText.of(draft.note.path, text).text, path=draft.note.path
        )
        answer.diff, answer.truncated = diff.text, diff.truncated
        if text == draft.note.data:
            return UNCHANGED
        if self.request.apply:
            replace_note(str(self.config.root), draft.note, text)
        return APPLIED if self.request.apply else CHANGED

    def _add(self, answer: FixJson) -> None:
        self.notes.append(answer)
        self.log("note", msgspec.structs.asdict(answer))

    def log(self, event: str, details: Mapping[str, object]) -> None:
        """Add to the record; if the disk is full by now, the work goes on without it."""
        with suppress(ArtifactNotWritten):
            self.record.add(event, {"at": timestamp(self.request.clock()), **details})
