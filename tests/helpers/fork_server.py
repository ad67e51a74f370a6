"""Forks a process for each command that it is asked for, from one that has loaded what they share.

`python -m tests.helpers.fork_server DESCRIPTOR`, the end of a socket. A request is a line of JSON,
with the descriptors of the three streams and of a pipe; into this go the pid and, at the end, what
`waitpid` says. No settings are loaded here: each process reads its own environment, as any does.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

STREAMS = 3
_LARGEST_READ = 1 << 16
_DJANGO = (
    "django.apps",
    "django.conf",
    "django.core.files.storage",
    "django.core.management.base",
    "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base",
    "django.db.models.sql.compiler",
    "django.db.migrations.executor",
)
_OTHERS = ("difflib", "getpass", "msgspec.json", "rapidfuzz.fuzz", "tomllib", "yaml")
_PURE = ("documents", "domain", "knowledge_base", "protocol", "runners", "settings", "store")


def main(control: socket.socket) -> None:
    """Answer requests until the other end is closed."""
    # Ctrl-C is for the suite; a process that it is meant for takes it again.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _load()
    with selectors.DefaultSelector() as waiting:
        waiting.register(control, selectors.EVENT_READ)
        while True:
            for key, _events in waiting.select():
                if key.fileobj is not control:
                    _report(waiting, key)
                elif not _serve(control, waiting):
                    return


def _load() -> None:
    for name in (*_DJANGO, *_OTHERS, "commonplace_site.console", "review.management.kit.command"):
        import_module(name)
    for part in _PURE:
        package = import_module(f"review.{part}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket, waiting: selectors.BaseSelector) -> bool:
    line, descriptors, _flags, _address = socket.recv_fds(control, _LARGEST_READ, STREAMS + 1)
    while line and not line.endswith(b"\n"):
        line += control.recv(_LARGEST_READ)
    if not line:
        return False
    *streams, told = descriptors
    # The child alone holds the other end: it is closed when the child is no more.
    ended, alive = os.pipe()
    pid = os.fork()
    if not pid:
        waiting.close()
        control.close()
        _become(json.loads(line), streams)
    for descriptor in (*streams, alive):
        os.close(descriptor)
    os.write(told, f"{pid}\n".encode())
    waiting.register(ended, selectors.EVENT_READ, (pid, told))
    return True


def _report(waiting: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, told = key.data
    waiting.unregister(key.fileobj)
    os.close(key.fd)
    _pid, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody asked how it ended
        os.write(told, f"{status}\n".encode())
    os.close(told)


def _become(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the process that the request is about; what a new interpreter does, this does too."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
        sys.argv = request["argv"]
        from commonplace_site import console

        console.main()
    finally:
        # `main` ends the process: only an error comes here, and none may reach the server's loop.
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
