"""Git: the files that differ from a revision, and a file as it was in a commit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from review.domain.paths import composed
from review.errors import InputRejected
from review.runners.process.run import ProgramOutput, read_program, worker_environment

_TIMEOUT = 60.0
# Without locks, questions, downloads and translations.
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C.UTF-8",
}


class GitRefused(InputRejected): ...


@dataclass(frozen=True)
class Changes:
    """Files below a folder that differ from a commit: there, gone, and new path to old path."""

    merge_base: str
    paths: frozenset[str]
    gone: frozenset[str]
    renamed: Mapping[str, str]


def changes_since(folder: Path, revision: str) -> Changes:
    """Compare the files below `folder` with the merge base of HEAD and a revision."""
    base = _merge_base(folder, revision)
    options = ("--name-status", "-z", "--find-renames", "--relative", "--no-ext-diff")
    words = iter(_words(_read(folder, "diff", *options, base, "--")))
    untracked = _words(_read(folder, "ls-files", "--others", "--exclude-standard", "-z"))
    paths, gone, renamed = set(untracked), set(), {}
    for status in words:
        path = next(words)
        if status.startswith("R"):
            old, path = path, next(words)
            renamed[path] = old
            gone.add(old)
        (gone if status == "D" else paths).add(path)
    return Changes(base, frozenset(paths), frozenset(gone), renamed)


def file_at(folder: Path, commit: str, path: str) -> bytes | None:
    found = _git(folder, "cat-file", "blob", f"{commit}:./{path}")
    return None if found.returncode else found.stdout


def prefix_of(folder: Path) -> str:
    """Return the path of `folder` in its repository with a slash behind it; `""` at its root."""
    tops = (parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git"))
    below = folder.relative_to(next(tops, folder)).as_posix()
    return "" if below == "." else f"{below}/"


def _merge_base(folder: Path, revision: str) -> str:
    is_shallow = _read(folder, "rev-parse", "--is-shallow-repository").strip() == b"true"
    options = ("--verify", "--quiet", "--end-of-options")
    named = _git(folder, "rev-parse", *options, f"{revision}^{{commit}}")
    base = named
    if not named.returncode:
        base = _git(folder, "merge-base", named.stdout.decode().strip(), "HEAD")
    if not base.returncode:
        return base.stdout.decode().strip()
    if is_shallow:
        raise InputRejected(
            f"this clone is shallow and lacks the history that leads to {revision!r}",
            "shallow-clone",
            hint="set fetch-depth: 0 (GitHub) or GIT_DEPTH: 0 (GitLab), or git fetch --unshallow",
        )
    why = "names no commit" if named.returncode else "has no ancestor in common with HEAD"
    if _git(folder, "rev-parse", *options, "HEAD").returncode:
        raise GitRefused("the repository has no commit to compare with", hint="commit first")
    raise GitRefused(f"{revision!r} {why}", hint="fetch it, or name another: origin/main")


def _words(data: bytes) -> list[str]:
    """Split words that end in NULs; names that are not UTF-8 keep their bytes as surrogates."""
    return [composed(word) for word in data.decode("utf-8", "surrogateescape").split("\0")[:-1]]


def _read(folder: Path, *arguments: str) -> bytes:
    done = _git(folder, *arguments)
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        if "not a git repository" in told:
            raise GitRefused(f"{folder} lies in no Git repository", hint="git init makes one")
        raise GitRefused(f"git {arguments[0]}: {told[:300]}")
    return done.stdout


def _git(folder: Path, *arguments: str) -> ProgramOutput:
    env = worker_environment(os.environ, extra=_QUIET)
    argv = ("git", "-c", "core.fsmonitor=false", *arguments)
    return read_program(argv, cwd=folder, env=env, timeout=_TIMEOUT)
