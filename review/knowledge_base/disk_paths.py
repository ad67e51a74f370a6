"""Finds how an NFC path is spelled on disk; the listings it reads are kept for one command."""

from __future__ import annotations

import os

from review.domain.paths import composed
from review.domain.problems import Problem
from review.knowledge_base.reader import UnreadableFile, resolve_inside
from review.vocabulary import ProblemCode


class Locator:
    """Maps identities to disk paths. It remembers listings: make a new one for a new command."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._listings: dict[str, dict[str, tuple[str, ...]]] = {}

    def spellings(self, path: str) -> tuple[str, ...]:
        """Give every path on disk whose NFC form is `path`, sorted; usually one, often none.

        Listing settles it, not opening: a file system that ignores case or normalisation would
        open a file under names that are not its own.

        :raises UnreadableFile: a folder on the way leads out of the root or cannot be read.
        """
        found: tuple[str, ...] = ("",)
        for part in path.split("/"):
            found = tuple(
                f"{folder}/{name}" if folder else name
                for folder in found
                for name in self._listing(path, folder).get(part, ())
            )
        return found

    def locate(self, path: str) -> str:
        """Give the one path on disk.

        :raises UnreadableFile: there is none, or more than one.
        """
        found = self.spellings(path)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnreadableFile(name_collision(path, len(found)))
        message = "no such file"
        raise UnreadableFile(Problem(path, ProblemCode.VANISHED, message, skipped=True))

    def _listing(self, path: str, folder: str) -> dict[str, tuple[str, ...]]:
        listing = self._listings.get(folder)
        if listing is None:
            listing = self._listings[folder] = self._list(path, folder)
        return listing

    def _list(self, path: str, folder: str) -> dict[str, tuple[str, ...]]:
        try:
            resolve_inside(self._root, path, folder)
            names = os.listdir(f"{self._root}/{folder}")  # noqa: PTH208 - strings, by the thousand
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            message = f"{folder or '.'!r} cannot be read ({(error.strerror or 'error').lower()})"
            problem = Problem(path, ProblemCode.UNREADABLE, message, skipped=True)
            raise UnreadableFile(problem) from error
        listing: dict[str, tuple[str, ...]] = {}
        for name in sorted(names):
            identity = composed(name)
            listing[identity] = (*listing.get(identity, ()), name)
        return listing


def name_collision(path: str, count: int) -> Problem:
    message = f"{count} files have this name in different Unicode spellings; rename all but one"
    return Problem(path, ProblemCode.NAME_COLLISION, message, skipped=True)
