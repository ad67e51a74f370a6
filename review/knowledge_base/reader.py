"""Reads regular files below the root, byte-exact, and nothing else: no link that leads out, no FIFO."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import NamedTuple

from review.domain.markdown.document import read_markdown
from review.domain.markdown.flavours import FLAVOURS
from review.domain.paths import composed
from review.domain.problems import Problem
from review.errors import InputRejected
from review.vocabulary import ProblemCode

# A file changed twice within one tick of its file system's clock keeps its times. The coarsest
# clocks in use count two seconds (FAT); a file younger than this when read is read again next time.
RACY_WINDOW_NS = 2_500_000_000
# Where no change time is kept it is the modification time, which anyone can set: FAT, exFAT, images
# that are mounted read-only and built with one time for all files. Their times are whole seconds or
# hundredths; a clock of nanoseconds gives such a number once in ten million.
_COARSE_GRAIN_NS = 10_000_000
_EARLIEST_NS = -(1 << 63)  # what the index can write down; some file systems take any time
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CODE_OF_ERROR = {
    errno.ENOENT: ProblemCode.VANISHED,
    errno.ENOTDIR: ProblemCode.VANISHED,
    errno.ESTALE: ProblemCode.VANISHED,
    errno.ELOOP: ProblemCode.LINK_LOOP,
    errno.ENXIO: ProblemCode.NOT_A_FILE,
}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_POINTERS = {
    re.compile(r"version https://(?:git-lfs|hawser)\.github\.com/spec/"):
        "Git LFS pointer instead of the text; fetch it with: git lfs pull",
    re.compile(r"(?:(?:\.\./)*\.git)?/annex/objects/\S+\s*$"):
        "git-annex pointer instead of the text; fetch it with: git annex get",
}  # fmt: skip
# Of Git, Mercurial, Subversion and Jujutsu.
_CONFLICT_MARKERS = tuple(map(re.compile, (r"<{7,}(?: |$)", r"={7,}$|[%+]{7,} ", r">{7,}(?: |$)")))
# More are no example of a conflict, and reading them could take a minute.
_MOST_HUNKS = 200
_CODE = re.compile(r"<(?:pre|script|style|textarea)\b|<!--", re.IGNORECASE)


class StatSignature(NamedTuple):
    """Size in bytes, times in nanoseconds, inode and device; equal means unchanged.

    `ctime_ns` is what a restored mtime cannot hide, the inode what a moved file cannot.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    def is_settled(self, *, read_at_ns: int) -> bool:
        """Return whether a change after a read at that moment is sure to show in the times."""
        return (
            max(self.mtime_ns, self.ctime_ns) + RACY_WINDOW_NS < read_at_ns
            and self.ctime_ns % _COARSE_GRAIN_NS != 0
            and self.mtime_ns >= _EARLIEST_NS
        )

    @classmethod
    def of(cls, status: os.stat_result) -> StatSignature:
        return cls(
            status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
        )


class UnreadableFile(InputRejected):
    """A file that cannot be taken as a note or a gate; `problem` says why, as data."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.path}: {problem.message}")
        self.problem = problem

    @classmethod
    def of(
        cls, path: str, code: ProblemCode, message: str, *, line: int | None = None
    ) -> UnreadableFile:
        return cls(Problem(path, code, message, skipped=True, line=line))


class FileContent(NamedTuple):
    """The bytes of a file; the signature is `None` if the file changed while it was read."""

    data: bytes
    signature: StatSignature | None


def read_file(root: str, path: str, disk_path: str = "", *, max_bytes: int) -> FileContent:
    """Read one file below the real `root`, spelled `disk_path` on disk; links inside lead on."""
    disk_path = disk_path or path
    try:
        real = resolve_inside(root, path, disk_path)
        if real != disk_path:
            refuse_dot_file(path, real)
        descriptor = os.open(f"{root}/{real}", _FILE_FLAGS)
        try:
            return _read(path, descriptor, max_bytes)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UnreadableFile(problem_of_error(path, error)) from error


def _read(path: str, descriptor: int, max_bytes: int) -> FileContent:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        raise UnreadableFile.of(path, ProblemCode.NOT_A_FILE, "not a regular file")
    data = b""
    while before.st_size <= max_bytes >= len(data) and (
        chunk := os.read(descriptor, before.st_size + 4096)
    ):
        data += chunk
    if (size := max(before.st_size, len(data))) > max_bytes:
        message = f"{size} bytes; at most {max_bytes} are reviewed (`max_bytes` in kb/review.toml)"
        raise UnreadableFile.of(path, ProblemCode.TOO_LARGE, message)
    signature = StatSignature.of(before)
    unchanged = signature == StatSignature.of(os.fstat(descriptor)) and signature.size == len(data)
    return FileContent(data, signature if unchanged else None)


class DiskPaths:
    """Maps NFC paths to their spelling on disk. It caches listings: make a new one for each command."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._listings: dict[str, dict[str, tuple[str, ...]]] = {}

    def spellings(self, path: str) -> tuple[str, ...]:
        """Return every path on disk whose NFC form is `path`, sorted; usually one, often none.

        Listing settles it, not opening: a file system that ignores case or normalisation would
        open a file under names that are not its own.
        """
        found: tuple[str, ...] = ("",)
        for part in path.split("/") if path else ():
            found = tuple(
                f"{folder}/{name}" if folder else name
                for folder in found
                for name in self._list(path, folder).get(part, ())
            )
        return found

    def locate(self, path: str) -> str:
        """Return the one path on disk, or raise UnreadableFile."""
        found = self.spellings(path)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnreadableFile(name_collision(path, len(found)))
        raise UnreadableFile.of(path, ProblemCode.VANISHED, "no such file")

    def _list(self, path: str, folder: str) -> dict[str, tuple[str, ...]]:
        if folder not in self._listings:
            listing: dict[str, tuple[str, ...]] = {}
            try:
                resolve_inside(self._root, path, folder)
                for name in sorted(os.listdir(f"{self._root}/{folder}")):  # noqa: PTH208
                    listing[composed(name)] = (*listing.get(composed(name), ()), name)
            except UnreadableFile as refused:
                if refused.problem.code is not ProblemCode.VANISHED:
                    raise
            except NotADirectoryError:
                pass
            except OSError as error:
                raise UnreadableFile(problem_of_error(path, error)) from error
            self._listings[folder] = listing
        return self._listings[folder]


def name_collision(path: str, count: int) -> Problem:
    message = f"{count} files have this name in different Unicode spellings; rename all but one"
    return Problem(path, ProblemCode.NAME_COLLISION, message, skipped=True)


def resolve_inside(root: str, path: str, disk_path: str) -> str:
    """Follow all links of `disk_path`, below the real `root`; none may lead out, or into `.git`."""
    joined = f"{root}/{disk_path}"
    failed = None
    try:
        real = os.path.realpath(joined, strict=True)
    except OSError as error:
        failed, real = error, os.path.realpath(joined)
    prefix = root.rstrip("/") + "/"
    below = f"{real}/"[len(prefix) :].rstrip("/")
    if not f"{real}/".startswith(prefix) or ".git" in below.split("/"):
        # A dead link out of the root is one out.
        raise UnreadableFile.of(path, ProblemCode.OUTSIDE_ROOT, "leads out of the repository")
    if failed:
        raise UnreadableFile(problem_of_error(path, failed)) from failed
    return below


def refuse_dot_file(path: str, real: str) -> None:
    """Keep a link from passing `.env` and its like, at `real`, off as a note."""
    if real.rpartition("/")[2].startswith("."):
        message = f"links to {real!r}, a hidden file, which is never reviewed"
        raise UnreadableFile.of(path, ProblemCode.OUTSIDE_ROOT, message)


def problem_of_error(path: str, error: OSError) -> Problem:
    code = _CODE_OF_ERROR.get(error.errno or 0, ProblemCode.UNREADABLE)
    message = f"cannot be read ({(error.strerror or 'no reason given').lower()})"
    return Problem(path, code, message, skipped=True)


def decode(path: str, data: bytes) -> str:
    """Return the text, BOM and line ends included; UnreadableFile: not UTF-8, or with a NUL."""
    code, at = ProblemCode.NOT_UTF8, 0
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data.startswith(_UTF16_MARKS):
            message = "encoded as UTF-16; expected UTF-8"
        else:
            at = error.start
            message = f"byte 0x{data[at]:02X} is not valid UTF-8; expected UTF-8 text"
    else:
        if "\0" not in text:
            return text
        code, at = ProblemCode.CONTAINS_NUL, data.index(0)
        message = "contains a NUL character; expected text"
    raise UnreadableFile.of(path, code, message, line=data.count(b"\n", 0, at) + 1)


def left_by_git(path: str, text: str) -> Problem | None:
    """Name a Git LFS pointer, and a text with merge-conflict markers that begin outside code."""
    text = text.removeprefix("\ufeff")
    for pointer, what in _POINTERS.items():
        if pointer.match(text):
            return Problem(path, ProblemCode.GIT_LFS_POINTER, f"a {what}", skipped=True)
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    is_read = text.count("<<<<<<<") + text.count("\n=======") <= _MOST_HUNKS
    # Jekyll has the most ways to show code.
    tokens = read_markdown(text, FLAVOURS["jekyll"]).tokens if is_read else ()
    code = {
        number
        for token in tokens
        if token.map and (token.type in ("fence", "code_block") or _CODE.search(token.content))
        for number in range(*token.map)
    }
    found: list[int] = []
    for number, line in enumerate(lines):
        if (found or number not in code) and _CONFLICT_MARKERS[len(found)].match(line):
            found.append(number + 1)
        if len(found) == len(_CONFLICT_MARKERS):
            message = "merge-conflict markers; resolve the conflict"
            return Problem(path, ProblemCode.MERGE_CONFLICT, message, skipped=True, line=found[0])
    return None
