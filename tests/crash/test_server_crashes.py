"""Commands on a PostgreSQL server: the client is killed at each message, or has no room; the server is struck."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import psycopg
import pytest

from tests import postgres
from tests.crash import blows
from tests.crash.harness import Base, Ran, Zygote
from tests.crash.scenarios import Layer, Scenario
from tests.crash.striking import Bench, Reference
from tests.crash.test_kills import draw
from tests.crash.tracing import Moment, Plan, can_change_calls
from tests.crash.wider_scenarios import BY_NAME

# A commit that was answered is on disk: what the cluster of the suite does without.
_OPTIONS = "-c listen_addresses='' -c fsync=off -c max_connections=50 -c shared_buffers=64MB"
_PATIENCE = 60
# What is a file there, or needs no store.
_OF_FILES = {"init", "backup", "backup-over", "migrate", "copy-a-store"}
ON_SERVER = tuple(name for name in BY_NAME if name not in _OF_FILES)
BLOWN = ("create", "ingest", "ingest-in-part", "recover-replace", "ack")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of the database that commands use, on a server that may be stopped."""
    binaries = postgres.find_binaries()
    if binaries is None:
        pytest.fail(postgres.NO_SERVER) if os.environ.get("CI") else pytest.skip(postgres.NO_SERVER)
    with postgres.cluster(binaries, options=_OPTIONS) as url:
        yield url.replace("/review?", "/struck?")


@pytest.fixture(scope="module")
def client(
    zygote: Zygote, server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Zygote]:
    """A zygote whose children use the server."""
    started = Zygote(tmp_path_factory.mktemp("client"), database=server)
    yield started
    started.close()


@dataclass(frozen=True)
class ServerBase(Base):
    """A root, and beside it a database; a copy is the only one at its time."""

    url: str = ""

    def copy(self, name: str) -> Path:
        """A copy of the root and of the database."""
        _execute(
            self.url,
            "DROP DATABASE IF EXISTS struck WITH (FORCE)",
            "CREATE DATABASE struck TEMPLATE laid",
            # Before the first checkpoint a crash sets the copy's sequences back to the template's.
            "CHECKPOINT",
        )
        return super().copy(name)


@dataclass
class ServerBench(Bench):
    """A bench whose store is on the server."""

    url: str = ""
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.env |= {"COMMONPLACE_REVIEW_DB": self.url}

    @cached_property
    def base(self) -> Base:
        """Laid in the database that is struck later, which is then set aside."""
        root = self.folder / "base"
        root.mkdir(parents=True)
        _execute(
            self.url,
            "DROP DATABASE IF EXISTS struck WITH (FORCE)",
            "DROP DATABASE IF EXISTS laid WITH (FORCE)",
            "CREATE DATABASE struck",
        )
        self.scenario.lay(Layer(self.zygote, root, self.env))
        _execute(self.url, "ALTER DATABASE struck RENAME TO laid")
        return ServerBase(root, self.folder, url=self.url)

    def _judge(
        self, root: Path, struck: Ran, reference: Reference, *, repair: bool = True
    ) -> list[str]:
        del repair  # the database has no second copy
        ends = time.monotonic() + _PATIENCE
        while blows.connections(self.url):
            assert time.monotonic() < ends, "the server keeps a dead client's connection"
            time.sleep(0.01)
        return super()._judge(root, struck, reference, repair=False)

    def blow(self, at: int, action: str) -> list[str]:
        """Do something to the server at the write of number `at`, and let the command go on."""
        reference = self.reference
        root = self.base.copy("struck")
        command = (sys.executable, "-m", "tests.crash.blows", action, self.url)
        ran = self.run(root, self.scenario.command, Plan(at=at, command=command))
        if action == "stop":
            blows.control(self.url, "restart")
        what = f"{self.scenario.name}, {action} before write {at} ({ran.struck})"
        faults = self.judge_refused(root, ran, reference)
        if ran.exit not in (75, *(run.exit for run in reference.runs)):
            faults.append(f"exit {ran.exit} {ran.refusal}")
        return [f"{what}: {fault}" for fault in faults]


def _execute(url: str, *statements: str) -> None:
    with psycopg.connect(blows.server_of(url), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def messages(bench: Bench) -> list[int]:
    """The numbers of the writes that are messages to the server, without the first, the greeting."""
    return [at for at, call in enumerate(bench.calls, 1) if call.startswith("send")][1:]


class TestClientKilled:
    @pytest.mark.soak
    @pytest.mark.parametrize("name", ON_SERVER)
    def test_at_each_of_its_messages(self, name, client, server, tmp_path, tried):
        bench = ServerBench(BY_NAME[name], client, tmp_path, url=server)
        faults = []

        # After one message is before the next; files are struck where the store is one, too.
        for at in messages(bench):
            faults += bench.kill(at, Moment.AFTER)
            tried[f"clients of a server killed: {name}"] += 1

        assert not faults, "\n".join(faults)


def file_writes(bench: Bench) -> list[int]:
    """The numbers of the writes that are files, each of which a full disk may refuse."""
    return [at for at, call in enumerate(bench.calls, 1) if not call.startswith("send")]


def taken_up_anew(scenario: Scenario) -> Scenario:
    """With a sweep at its end: the server has room, so a job whose runner had none is stored as failed."""
    if scenario.name != "run-a-runner":
        return scenario
    return replace(scenario, again=(*scenario.finishing, BY_NAME["sweep"].command))


class TestClientWithoutRoom:
    @pytest.mark.soak
    @pytest.mark.skipif(not can_change_calls(), reason="not known for this processor")
    @pytest.mark.parametrize("name", ON_SERVER)
    def test_at_each_of_its_files(self, name, client, server, tmp_path, tried):
        bench = ServerBench(taken_up_anew(BY_NAME[name]), client, tmp_path, url=server)
        faults = []

        for at in file_writes(bench):
            faults += bench.refuse(at, errno.ENOSPC)
            tried[f"files of a server's client refused (ENOSPC): {name}"] += 1

        assert not faults, "\n".join(faults)


class TestServerStruck:
    def test_in_the_middle_and_its_client_too(self, client, server, tmp_path, tried):
        bench = ServerBench(BY_NAME["ingest"], client, tmp_path, url=server)
        (at,) = draw(messages(bench), "ingest")

        faults = bench.kill(at, Moment.AFTER) + bench.blow(at, "terminate")

        tried["servers struck, and their clients"] += 2
        assert not faults, "\n".join(faults)

    @pytest.mark.soak
    @pytest.mark.parametrize(
        ("name", "action"),
        [
            *((name, "terminate") for name in (*BLOWN, "rules")),
            # A runner waits half a minute for a server to come back: each time.
            *((name, "stop") for name in BLOWN),
        ],
    )
    def test_at_each_message(self, name, action, client, server, tmp_path, tried):
        bench = ServerBench(BY_NAME[name], client, tmp_path, url=server)
        faults = []

        for at in messages(bench):
            faults += bench.blow(at, action)
            tried[f"servers struck: {action}, {name}"] += 1

        assert not faults, "\n".join(faults)
