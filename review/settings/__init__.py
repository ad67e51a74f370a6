"""Settings: environment variables and `kb/review.toml`, read into one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import ClassVar
from unicodedata import normalize

from review.domain.model_partition import build_model_partition
from review.domain.paths import gate_id_of, gate_label, gate_path_of
from review.errors import ExitCode, InputRejected, ReviewError
from review.settings.file import (
    PLACEHOLDERS,
    ApiKind,
    ConfigRefused,
    Partition,
    RunnerOutput,
    RunnerSettings,
    WorkerSettings,
    parse_duration,
    parse_settings,
    read_file,
    read_settings,
)

MAX_SWEEP_JOBS = 64
REPORTS_FOLDER = "kb/reports"
JOBS_FOLDER = "bundle-reviews"
_FILE = Path("kb/review.toml")
_ENVIRONMENT = (
    "COMMONPLACE_ROOT",
    "COMMONPLACE_REVIEW_DB",
    "COMMONPLACE_REVIEW_ARTIFACTS",
    "COMMONPLACE_ACTOR",
    "REVIEW_SWEEP_JOBS",
    "COMMONPLACE_BROKER_URL",
)


class RootNotFound(ReviewError):
    exit_code: ClassVar[ExitCode] = ExitCode.INPUT_REJECTED


@dataclass(frozen=True)
class Config:
    """Everything that can be set; paths are absolute unless they are said to be root-relative.

    :param note_roots: root-relative POSIX folders that hold notes.
    :param excludes: root-relative glob patterns of notes to leave out.
    :param gates_folder: root-relative POSIX folder of the gates.
    :param contracts: root-relative glob patterns of files whose section `Review` is a gate.
    :param database: a path of an SQLite file, or a `postgres://` URL.
    :param max_note_bytes: bytes; a larger file is a problem.
    :param folder_types: root-relative folders to the type of notes below them that name none.
    :param flavour: dialect of Markdown the notes are written in; `anchors`: how headings become
        anchors, empty for the flavour's way; `site_root`: root-relative folder of links from `/`.
    :param strips_comments: whether comments are kept from models.
    :param max_gates: gates in a job that holds gates of several lenses.
    :param uses_cache: whether a file's stat may answer for its text; not on a network share.
    :param sweep_jobs: how many jobs a sweep runs at once; `sweep_timeout` is that of each.
    :param muted: gate id to the reason why its findings are kept out of the queue.
    :param sweep_attempts: how often a pair is tried on the same texts, over all sweeps.
    :param lease: how long a job is held by a worker that shows no sign of life.
    :param broker_url: where job ids are sent; may hold a password.
    :param workers: model partition to its runner on machines that take jobs from the broker.
    """

    root: Path
    database: str
    artifacts: Path
    actor: str
    note_roots: tuple[str, ...] = ("kb/notes", "kb/reference")
    excludes: tuple[str, ...] = ()
    gates_folder: str = "kb/instructions/review-gates"
    contracts: tuple[str, ...] = ()
    max_note_bytes: int = 5_000_000
    folder_types: Mapping[str, str] = field(default_factory=dict)
    uses_cache: bool = True
    max_prompt_tokens: int = 120_000
    abandoned_after: timedelta = timedelta(hours=2)
    sweep_jobs: int = 4
    sweep_timeout: timedelta = timedelta(minutes=15)
    sweep_attempts: int = 3
    sweep_max_cost_usd: float | None = None
    flavour: str = "commonmark"
    anchors: str = ""
    site_root: str | None = None
    strips_comments: bool = False
    max_gates: int = 18
    muted: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    runners: Mapping[str, RunnerSettings] = field(default_factory=dict)
    lease: timedelta = timedelta(minutes=1)
    broker_url: str = field(default="", repr=False)
    workers: Mapping[str, WorkerSettings] = field(default_factory=dict)

    @property
    def uses_sqlite(self) -> bool:
        return "://" not in self.database

    @property
    def index_path(self) -> Path:
        """The file index's cache file: beside the store, or in the reports folder for a server."""
        if self.uses_sqlite:
            store = Path(self.database)
            return store.with_name(f"{store.stem}.index")
        return self.root / REPORTS_FOLDER / "review-store.index"

    @property
    def aliases(self) -> dict[str, str]:
        """Model name as written to the name of the partition that declares it."""
        declared = self.partitions.items()
        return {alias: name for name, partition in declared for alias in partition.aliases}

    def holds_sources(self, place: Path) -> bool:
        """Return whether `place`, links followed, is in `kb/` outside the reports: a person's files."""
        found, root = (Path(os.path.realpath(path)) for path in (place, self.root))
        return found.is_relative_to(root / "kb") and not found.is_relative_to(root / REPORTS_FOLDER)

    def is_among_notes(self, path: str) -> bool:
        """Return whether a path is in a folder of notes; `.` is the root, with all below it."""
        return any(root == "." or path.startswith(f"{root}/") for root in self.note_roots)

    def gate_id(self, gate_path: str) -> str:
        """Return the id of the gate in this file; raises BadPath for one outside the folder."""
        return gate_id_of(gate_path, self.gates_folder)

    def gate_label(self, gate_path: str) -> str:
        """Return the gate's id; its path where the gates folder was another one at that time."""
        return gate_label(gate_path, self.gates_folder)

    def gate_path(self, gate_id: str) -> str:
        return gate_path_of(gate_id, self.gates_folder)

    def canonical_partition(self, name: str) -> str:
        """Return the partition that `name` denotes; a partition's own name denotes itself."""
        is_declared = name in self.partitions
        return name if is_declared else build_model_partition(name, aliases=self.aliases)

    def accepts_any_effort(self, partition: str) -> bool:
        declared = self.partitions.get(partition)
        return declared is not None and declared.any_effort


def current() -> Config:
    """Return the configuration of this process, from its environment and current directory."""
    environment = tuple(os.environ.get(name, "") for name in _ENVIRONMENT)
    root = find_root(environment[0])
    return _load(root, environment, read_file(root / _FILE))


def find_root(named: str = "") -> Path:
    """Find the repository's root: `named`, else the nearest parent that has a `kb/` folder."""
    here = Path(named).expanduser().resolve() if named else _current_folder()
    for folder in (here, *(() if named else here.parents)):
        if (folder / "kb").is_dir():
            return folder
    if named:
        raise RootNotFound(
            f"COMMONPLACE_ROOT is {str(here)!r}, which holds no kb/ folder",
            hint="point COMMONPLACE_ROOT at the repository that holds kb/, or run: commonplace review_init",
        )
    raise RootNotFound(
        f"no kb/ folder in {str(here)!r} or in any folder above it",
        hint="run inside the repository, set COMMONPLACE_ROOT, or start one here: commonplace review_init",
    )


def root_to_start() -> Path:
    """Find where to start a knowledge base: COMMONPLACE_ROOT, else the present one, else this folder."""
    named = os.environ.get("COMMONPLACE_ROOT", "")
    if named:
        return Path(named).expanduser().resolve()
    try:
        return find_root()
    except RootNotFound:
        return _current_folder()


def _current_folder() -> Path:
    try:
        return Path.cwd().resolve()
    except FileNotFoundError as error:
        raise RootNotFound(
            "the current folder is gone: it was removed or replaced after it was entered",
            hint="go to the repository again, or set COMMONPLACE_ROOT",
        ) from error


@lru_cache(maxsize=8)
def _load(root: Path, environment: tuple[str, ...], settings: bytes) -> Config:
    _named_root, database, artifacts, actor, sweep_jobs, broker_url = environment
    if not database:
        database = str(root / REPORTS_FOLDER / "review-store.sqlite")
    elif "://" not in database:
        database = str((Path.cwd() / Path(database).expanduser()).resolve())
    folder = Path(artifacts).expanduser() if artifacts else Path(REPORTS_FOLDER, JOBS_FOLDER)
    changes = parse_settings(root / _FILE, settings)
    for name in set(changes.get("note_roots", ())) - set(Config.note_roots):
        if not any((root / normalize(form, name)).is_dir() for form in ("NFC", "NFD")):
            raise ConfigRefused(
                f"{root / _FILE}: notes.roots: expected a folder below {root}, and there is no {name!r}",
                hint="make the folder, or name the one that holds the notes",
            )
    if broker_url:
        changes["broker_url"] = broker_url
    if sweep_jobs:
        changes["sweep_jobs"] = _jobs(sweep_jobs)
    config = Config(root=root, database=database, artifacts=root / folder, actor=actor, **changes)
    if artifacts:
        _refuse_among_notes(config)
    return config


def _refuse_among_notes(config: Config) -> None:
    """Refuse a folder for job files that holds notes or gates: no note in it would be reviewed."""
    place = Path(os.path.realpath(config.artifacts))
    if place.is_relative_to(os.path.realpath(config.root / REPORTS_FOLDER)):
        return
    for name in ("kb", config.gates_folder, *config.note_roots):
        folder = Path(os.path.realpath(config.root / name))
        is_in = name != "kb" and place.is_relative_to(folder)
        if is_in or folder.is_relative_to(place):
            raise InputRejected(
                f"COMMONPLACE_REVIEW_ARTIFACTS is {str(config.artifacts)!r}, and"
                f" {'lies in' if is_in else 'holds'} {name}/; no note or gate there would be seen",
                "environment-refused",
                hint=f"name a folder of its own for the files of jobs, as below {REPORTS_FOLDER}/",
            )


def _jobs(raw: str) -> int:
    if not (raw.isascii() and raw.isdecimal() and 0 < int(raw) <= MAX_SWEEP_JOBS):
        raise InputRejected(
            f"REVIEW_SWEEP_JOBS is {raw!r}; expected a whole number from 1 to {MAX_SWEEP_JOBS}",
            "environment-refused",
        )
    return int(raw)
