"""Declares the arguments of commands, and those that several commands have alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from review.management.kit.options import (
    database,
    digest,
    duration,
    money,
    partition,
    positive_int,
    source,
    text,
    word,
)
from review.vocabulary import REQUESTED, STALE, Staleness

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


@dataclass(frozen=True)
class Option:
    """What is said of an argument, and how `add_argument` takes it where that is not plain."""

    about: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class OneOf:
    """Arguments of which one at most is given, or exactly one."""

    arguments: Arguments
    required: bool


# By its usage what an argument is for, as a help shows both: `--dry-run` (a flag), `--limit N`,
# `--note PATH...` (one value or more, any number of times), `note NOTE_PATH`, `[note NOTE_PATH]`,
# `[gates GATE_ID...]`. The first word of a positional argument is its key in the options.
# Arguments that stand below a title of their own are by that title.
Arguments: TypeAlias = "Mapping[str, str | Option | OneOf | Arguments]"


def option(about: str, choices: Iterable[str] | None = None, **settings: Any) -> Option:
    return Option(about, settings if choices is None else {"choices": list(choices), **settings})


def one_of(arguments: Arguments, *, required: bool = False) -> OneOf:
    return OneOf(arguments, required)


def declare(parser: Any, arguments: Arguments) -> None:
    """Add the arguments to a parser, or to a group of one."""
    for usage, what in arguments.items():
        if isinstance(what, OneOf):
            declare(parser.add_mutually_exclusive_group(required=what.required), what.arguments)
        elif isinstance(what, Mapping):
            declare(parser.add_argument_group(usage), what)
        else:
            _add(parser, usage, what if isinstance(what, Option) else Option(what, {}))


def _add(parser: Any, usage: str, what: Option) -> None:
    name, _space, metavar = usage.strip("[]").partition(" ")
    metavar = metavar.removesuffix("...")
    settings: dict[str, Any] = {"help": what.about}
    if metavar:
        settings |= {"type": _SHAPES.get(metavar, text), "metavar": metavar}
    elif "choices" not in what.settings:
        settings["action"] = "store_true"
    if usage.startswith("["):
        settings["nargs"] = "*" if usage.endswith("...]") else "?"
    elif usage.endswith("..."):
        settings["nargs"] = "+"
        if name.startswith("-"):
            settings |= {"action": "extend", "default": []}
    parser.add_argument(name, **settings | what.settings)


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
    "--note PATH...": option(
        "notes and folders, from the root; without it, all notes", dest="notes"
    ),
    "--current": option("only notes whose frontmatter says status: current", dest="current_only"),
}
SCOPE: Arguments = {
    "[gates GATE_OR_BUNDLE...]": "gate ids (prose/source-residue), gate paths, or bundles (prose);"
    " before --note",
    "--all-gates": "every gate there is",
    **NOTES,
}
SELECTION: Arguments = {
    "--mode": option(
        "requested: every applicable pair, fresh or not (needs --model)",
        (STALE, REQUESTED),
        default=STALE,
    ),
    "--reason ...": option(
        "only pairs whose first reason is one of these", Staleness.values, dest="reasons"
    ),
    "--flagged-by PARTITION": "only pairs that this model partition's current review warns or"
    " fails",
    "--repeat": "instead of stale pairs, fresh ones that were reviewed once: to see whether the"
    " model decides alike again (needs --model; --limit takes a sample)",
    "rules-only": one_of(
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
    """Declare who reviewed: the harness, its model and its effort."""
    return {
        "--runner R": option("the harness that reviews", type=word, required=required),
        "--runner-model M": "its model, which must make the job's partition; leave out when it is"
        " not exposed",
        "runner-effort": one_of(
            {
                "--runner-effort E": "its reasoning effort",
                "--effort-unknown": "the model is known and the effort is not: compare the model"
                " only",
            }
        ),
    }


def runner(*, required: bool) -> Arguments:
    """Declare the runner, and the model and effort that are passed to it."""
    return {
        "--runner R": option("who reviews", type=word, required=required),
        "--runner-model M": "the model as the runner calls it, where only its partition is named",
        "--runner-effort E": "its reasoning effort",
    }
