"""Option shapes: the `type=` callables of the commands, and the parser that refuses politely."""

from __future__ import annotations

import argparse
import re
import sys
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn, TextIO

from django.core.management.base import CommandParser, OutputWrapper

from review import settings
from review.domain.model_partition import build_model_partition
from review.domain.printing import printable_line
from review.errors import ExitCode, UsageRefused
from review.settings.file import parse_duration

MAX_WORD_LENGTH = 200


class HelpShown(Exception):
    """The help was requested and written; there is nothing else to do."""


class _StoredOnce(argparse.Action):
    """Keeps an option's value, and refuses a second one: the first would be lost in silence."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        if self.option_strings:
            if self.dest in parser.given:
                raise argparse.ArgumentError(self, "it is given twice and takes one value")
            parser.given.add(self.dest)
        setattr(namespace, self.dest, values)


class ReviewParser(CommandParser):
    """An argument parser that raises its complaints instead of printing them.

    Options are never abbreviated: an abbreviation that works today is ambiguous after an addition.
    An option is given once unless it says `action="extend"`.
    """

    output: OutputWrapper | TextIO | None = None

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("allow_abbrev", False)
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**kwargs)
        self.given: set[str] = set()
        self._words: list[str] = []
        for action in (None, "store"):
            self.register("action", action, _StoredOnce)

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        :raises UsageRefused: always; the hint names near options or the help.
        """
        text = printable_line(message)
        raise UsageRefused(text, hint=self._near(message) or f"see: {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        super().print_help(file or self.output)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End after the help was shown; errors go through `error`.

        :raises HelpShown: always.
        """
        raise HelpShown

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Let an option of several listed words end where its words do: `--reason x prose/y`."""
        words = list(sys.argv[1:] if args is None else args)
        self.given.clear()
        self._words = words
        return super().parse_known_args(self._one_by_one(words), namespace)

    def _one_by_one(self, words: list[str]) -> list[str]:
        listed = {
            name: action.choices
            for action in self._actions
            if action.nargs == "+" and action.choices is not None
            for name in action.option_strings
        }
        split: list[str] = []
        option = ""
        for word in words:
            if option and word in listed[option]:
                if split[-1] == option:
                    split.pop()
                split.append(f"{option}={word}")
            else:
                option = word if word in listed else ""
                split.append(word)
        return split

    def _takes_many(self, word: str) -> bool:
        named = (action for action in self._actions if word in action.option_strings)
        return any(action.nargs == "+" and action.choices is None for action in named)

    def _near(self, message: str) -> str:
        missing = re.search(r"arguments are required: ([A-Z_]+)", message)
        if missing and (greedy := next(filter(self._takes_many, self._words), "")):
            return f"{missing[1]} stands before {greedy}, which takes all words behind it"
        unknown = re.search(r"unrecognized arguments: (--[^\s=]+)", message)
        if unknown is None:
            return ""
        import difflib

        known = [option for action in self._actions for option in action.option_strings]
        near = difflib.get_close_matches(unknown[1], known, n=3, cutoff=0.6)
        return f"did you mean {' or '.join(near)}? see: {self.prog} --help" if near else ""


def positive_int(raw: str) -> int:
    """A whole number above 0 that fits a database key."""
    number = int(raw) if re.fullmatch(r"[0-9]{1,18}", raw.strip(), re.ASCII) else 0
    if not number:
        raise argparse.ArgumentTypeError(f"{raw!r} is not a whole number above 0")
    return number


def money(raw: str) -> Decimal:
    """An amount above 0, such as `2.50`."""
    try:
        amount = Decimal(raw)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0:
        raise argparse.ArgumentTypeError(f"{raw!r} is not an amount above 0, such as 2.50")
    return amount


def duration(raw: str) -> timedelta:
    """A length of time: `90s`, `15m`, `2h`, `3d`."""
    try:
        return parse_duration(raw)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def path(raw: str) -> Path:
    """A path on this machine; `~` is the home folder.

    `-` is none: where an option reads standard input or writes standard output, it says so.
    """
    if not raw or "\0" in raw:
        raise argparse.ArgumentTypeError(f"{raw!r} is not a path")
    return Path(_no_dash(raw)).expanduser()


def database(raw: str) -> str:
    """A store: a path, or a URL."""
    return text(_no_dash(raw))


def _no_dash(raw: str) -> str:
    if raw == "-":
        raise argparse.ArgumentTypeError("- is no place for this; a file of that name is ./-")
    return raw


def source(raw: str) -> str:
    """Something to read or write: a path, or `-` for standard input or output."""
    return raw if raw == "-" else str(path(raw))


def text(raw: str) -> str:
    """Words that are not blank, such as a reason."""
    if not raw.strip():
        raise argparse.ArgumentTypeError("must not be blank")
    if any("\ud800" <= char <= "\udfff" for char in raw):
        raise argparse.ArgumentTypeError("holds bytes that are not UTF-8")
    return raw.strip()


def partition(raw: str) -> str:
    """A model partition: the name as declared, or what the model's name makes of itself.

    :raises ModelNameRefused: no partition can be made of it.
    """
    name = word(raw)
    try:
        config = settings.current()
    except settings.RootNotFound:
        return build_model_partition(name)  # the command says itself that it has no root
    is_declared = name in config.partitions
    return name if is_declared else build_model_partition(name, aliases=config.aliases)


def word(raw: str) -> str:
    """A short name on one line: an actor, a runner, a model."""
    name = text(raw)
    if len(name) > MAX_WORD_LENGTH or not name.isprintable():
        raise argparse.ArgumentTypeError(
            f"must be one line of at most {MAX_WORD_LENGTH} printable characters"
        )
    return name


def digest(raw: str) -> str:
    """A SHA-256 as 64 hex digits."""
    digits = raw.strip().lower()
    if re.fullmatch("[0-9a-f]{64}", digits) is None:
        raise argparse.ArgumentTypeError(f"{raw!r} is no SHA-256: expected 64 hex digits")
    return digits


EXIT_CODE_MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed",
    ExitCode.USAGE: "the command line does not make sense",
    ExitCode.NOTHING_TO_DO: "nothing to do",
    ExitCode.CONFLICT: "conflict: the state moved, or belongs to somebody else",
    ExitCode.INPUT_REJECTED: "input rejected, nothing written",
    ExitCode.GATE_TRIPPED: "gate tripped (--fail-on)",
    ExitCode.TRY_AGAIN: "try again: the database is busy or unreachable",
    ExitCode.INTERRUPTED: "interrupted",
    ExitCode.BROKEN_PIPE: "broken pipe",
}
COMMON_EXIT_CODES = (ExitCode.DONE, ExitCode.USAGE, ExitCode.TRY_AGAIN)
