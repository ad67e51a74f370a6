"""Arguments: shapes of values, the parser that refuses politely, and what commands have alike."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeAlias

from django.core.management.base import CommandParser, OutputWrapper

from review import settings
from review.domain.model_partition import build_model_partition
from review.domain.printing import printable_line
from review.errors import ExitCode, UsageRefused
from review.vocabulary import REQUESTED, STALE, Staleness

MAX_WORD_LENGTH = 200
_NO_PLACE = "- is no place for this; a file of that name is ./-"


class HelpShown(Exception): ...


class _StoredOnce(argparse.Action):
    """Keeps an option's value, and refuses a second one: the first would be lost in silence."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        if self.option_strings:
            if self.dest in parser.given:
                raise argparse.ArgumentError(self, "it is given twice and takes one value")
            parser.given.add(self.dest)
        setattr(namespace, self.dest, values)


class ReviewParser(CommandParser):
    """Raises its complaints instead of printing them; takes no abbreviations, options once."""

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
        """Raise UsageRefused with near options, or the help, as hint."""
        text = printable_line(message)
        raise UsageRefused(text, hint=self._near(message) or f"see: {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        super().print_help(file or self.output)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raise HelpShown after the help was shown; errors go through `error`."""
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
            is_value = option and word in listed[option]
            if is_value and split[-1] == option:
                split.pop()
            if not is_value:
                option = word if word in listed else ""
            split.append(f"{option}={word}" if is_value else word)
        return split

    def _near(self, message: str) -> str:
        missing = re.search(r"arguments are required: ([A-Z_]+)", message)
        many = (it for it in self._actions if it.nargs == "+" and it.choices is None)
        greedy = {name for action in many for name in action.option_strings} & {*self._words}
        if missing and greedy:
            return f"{missing[1]} stands before {min(greedy)}, which takes all words behind it"
        unknown = re.search(r"unrecognized arguments: ([^\s=]+)", message)
        stray = unknown[1] if unknown else next(iter(self._words), "-")
        flag = "--note" if stray.endswith(".md") or Path(stray).exists() else "--gate"
        if stray[0] != "-" and any(flag in action.option_strings for action in self._actions):
            return f"{flag} takes it: {flag} {shlex.quote(stray)}"
        if unknown is None:
            return ""
        import difflib

        known = [option for action in self._actions for option in action.option_strings]
        near = difflib.get_close_matches(stray, known, n=3, cutoff=0.6)
        return f"did you mean {' or '.join(near)}? see: {self.prog} --help" if near else ""


def _require(fits: object, otherwise: str) -> None:
    if not fits:
        raise argparse.ArgumentTypeError(otherwise)


def positive_int(raw: str) -> int:
    number = int(raw) if re.fullmatch(r"[0-9]{1,18}", raw.strip(), re.ASCII) else 0
    _require(number, f"{raw!r} is not a whole number above 0")
    return number


def money(raw: str) -> float:
    amount = 0.0
    with suppress(ValueError):
        amount = float(raw)
    _require(0 < amount < float("inf"), f"{raw!r} is not an amount above 0, such as 2.50")
    return amount


def duration(raw: str) -> timedelta:
    try:
        return settings.parse_duration(raw)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def path(raw: str) -> Path:
    """A path on this machine; `~` is the home folder, and `-` is no path."""
    _require(raw and "\0" not in raw, f"{raw!r} is not a path")
    _require(raw != "-", _NO_PLACE)
    return Path(raw).expanduser()


def database(raw: str) -> str:
    _require(raw != "-", _NO_PLACE)
    return text(raw)


def source(raw: str) -> str:
    return raw if raw == "-" else str(path(raw))


def text(raw: str) -> str:
    """Words that are not blank, such as a reason."""
    _require(raw.strip(), "must not be blank")
    has_bytes = any("\ud800" <= char <= "\udfff" for char in raw)
    _require(not has_bytes, "holds bytes that are not UTF-8")
    return raw.strip()


def partition(raw: str) -> str:
    """A model partition: the name as declared, or what the model's name makes of itself."""
    name = word(raw)
    try:
        config = settings.current()
    except settings.RootNotFound:
        return build_model_partition(name)  # the command says itself that it has no root
    return config.canonical_partition(name)


def word(raw: str) -> str:
    """A short name on one line: an actor, a runner, a model."""
    name = text(raw)
    most = f"must be one line of at most {MAX_WORD_LENGTH} printable characters"
    _require(len(name) <= MAX_WORD_LENGTH and name.isprintable(), most)
    return name


def digest(raw: str) -> str:
    digits = raw.strip().lower()
    _require(re.fullmatch("[0-9a-f]{64}", digits), f"{raw!r} is no SHA-256: expected 64 hex digits")
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


# The shape of a value by the word that stands for it in a usage; any other is text.
_SHAPES: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(("N", "JOB_ID"), positive_int),
    **dict.fromkeys(("P", "PARTITION"), partition),
    **dict.fromkeys(("A", "E", "M", "MODEL", "BATCH", "FINGERPRINT"), word),
    **dict.fromkeys(("15m", "20s", "2h", "30d"), duration),
    **dict.fromkeys(("F", "FILE", "F|-", "FILE|-", "DIR|FILE"), source),
    "X": money,
    "URL": database,
    "SHA": digest,
}


class Option:
    """What is said of an argument, and how `add_argument` takes it where that is not plain."""

    def __init__(self, about: str, choices: Iterable[str] | None = None, **settings: Any) -> None:
        self.about = about
        self.settings = settings if choices is None else {"choices": list(choices), **settings}


@dataclass(frozen=True)
class OneOf:
    """Arguments of which one at most is given, or exactly one."""

    arguments: Arguments
    required: bool = False


# By its usage what an argument is for, as a help shows both: `--dry-run` (a flag), `--limit N`,
# `--note PATH...` (one value or more, any number of times), `note NOTE_PATH`, `[note NOTE_PATH]`,
# `[gates GATE_ID...]`. The first word of a positional argument is its key in the options.
# Arguments that stand below a title of their own are by that title.
Arguments: TypeAlias = "Mapping[str, str | Option | OneOf | Arguments]"


def declare(parser: Any, arguments: Arguments) -> None:
    for usage, what in arguments.items():
        if isinstance(what, OneOf):
            declare(parser.add_mutually_exclusive_group(required=what.required), what.arguments)
        elif isinstance(what, Mapping):
            declare(parser.add_argument_group(usage), what)
        else:
            _add(parser, usage, what if isinstance(what, Option) else Option(what))


def _add(parser: Any, usage: str, what: Option) -> None:
    name, _space, words = usage.strip("[]").partition(" ")
    metavar, is_many = words.removesuffix("..."), words.endswith("...")
    extends = is_many and name.startswith("-")
    is_flag = not (words or "choices" in what.settings)
    settings: dict[str, Any] = {
        "help": what.about,
        "metavar": metavar or None,
        "type": _SHAPES.get(metavar, text) if metavar else None,
        "nargs": ("*" if is_many else "?") if usage.startswith("[") else "+" if is_many else None,
        "action": "extend" if extends else "store_true" if is_flag else None,
        "default": [] if is_many and usage[0] in "[-" else None,
    }
    given = {key: value for key, value in settings.items() if value is not None}
    parser.add_argument(name, **given | what.settings)


# Without it the actor is COMMONPLACE_ACTOR, else the user: at a terminal that is `human:<user>`.
# Elsewhere the actor is unknown: `unnamed:<user>`, which counts as no person.
ACTOR: Arguments = {
    "--actor A": "who does this, such as human:ana or agent:name (default: COMMONPLACE_ACTOR, else"
    " human:<user>, or unnamed:<user> where no terminal is)"
}

PAGE: Arguments = {
    "--after CURSOR": "behind this one: `next` of an earlier answer",
    "--summary": "counts in the place of entries",
}
LISTING: Arguments = {"--limit N": "at most N entries", **PAGE}

NOTES: Arguments = {
    "--note PATH...": Option(
        "notes and folders, from the root; without it, all notes", dest="notes"
    ),
    "--current": Option("only notes whose frontmatter says status: current", dest="current_only"),
}
SCOPE: Arguments = {
    "gates": OneOf(
        {
            "[gates GATE_OR_BUNDLE...]": "gate ids (prose/source-residue), gate paths, or bundles"
            " (prose); before --note",
            "--all-gates": "every gate there is",
        }
    ),
    **NOTES,
}
SELECTION: Arguments = {
    "--mode": Option(
        "requested: every applicable pair, fresh or not (needs --model)",
        (STALE, REQUESTED),
        default=STALE,
    ),
    "--reason ...": Option(
        "only pairs whose first reason is one of these", Staleness.values, dest="reasons"
    ),
    "--flagged-by PARTITION": "only pairs that this model partition's current review warns or"
    " fails",
    "--repeat": "instead of stale pairs, fresh ones that were reviewed once: to see whether the"
    " model decides alike again (needs --model; --limit takes a sample)",
    "rules-only": OneOf(
        {
            "--rules-only": "only gates that name a rule: judged for free",
            "--skip-rules": "only gates that name no rule: for models",
        }
    ),
    "--skip-trivial": "leave out note changes that the gate does not watch, or tolerates",
    "--limit N": "at most N pairs; counts stay whole",
    "--no-cache": "read every file: for network shares, where no modification time can be trusted",
}


def harness(*, required: bool) -> Arguments:
    return {
        "--runner R": Option("the harness that reviews", type=word, required=required),
        "--runner-model M": "its model, which must make the job's partition; leave out when it is"
        " not exposed",
        "runner-effort": OneOf(
            {
                "--runner-effort E": "its reasoning effort",
                "--effort-unknown": "the model is known and the effort is not: compare the model"
                " only",
            }
        ),
    }


def runner(*, required: bool) -> Arguments:
    return {
        "--runner R": Option("who reviews", type=word, required=required),
        "--runner-model M": "the model as the runner calls it, where only its partition is named",
        "--runner-effort E": "its reasoning effort",
    }
