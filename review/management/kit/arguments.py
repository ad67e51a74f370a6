"""Declares the arguments of commands, and those that several commands have alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from review.management.kit.options import partition, positive_int, text, word
from review.vocabulary import REQUESTED, STALE, Staleness

# Adds one argument, or a group of them, to a parser or to a group of one.
Declare = Callable[[Any], object]
Shape = Callable[[str], object] | Iterable[str]


def option(usage: str, about: str, shape: Shape | None = None, **more: Any) -> Declare:
    """Declare one argument.

    :param usage: as a help shows it: `--dry-run` (a flag), `--limit N`, `--note PATH...` (one value
        or more, given any number of times), `note NOTE_PATH`, `[note NOTE_PATH]`,
        `[gates GATE_ID...]`; the first word of a positional argument is its key in the options.
    :param shape: checks and converts a value; or the values there are.
    :param more: as `add_argument` takes it.
    """
    name, _space, metavar = usage.strip("[]").partition(" ")
    settings: dict[str, Any] = {"help": about}
    if callable(shape):
        settings |= {"type": shape, "metavar": metavar.removesuffix("...")}
    elif shape is not None:
        settings["choices"] = list(shape)
    else:
        settings["action"] = "store_true"
    if usage.startswith("["):
        settings["nargs"] = "*" if usage.endswith("...]") else "?"
    elif usage.endswith("..."):
        settings["nargs"] = "+"
        if name.startswith("-"):
            settings |= {"action": "extend", "default": []}
    settings |= more
    return lambda parser: parser.add_argument(name, **settings)


def one_of(*arguments: Declare, required: bool = False) -> Declare:
    """Declare arguments of which one at most is given."""
    return lambda parser: declare(parser.add_mutually_exclusive_group(required=required), arguments)


def titled(title: str, *arguments: Declare) -> Declare:
    """Declare arguments that the help shows below a title of their own."""
    return lambda parser: declare(parser.add_argument_group(title), arguments)


def declare(parser: Any, arguments: Iterable[Declare]) -> None:
    """Add the arguments to a parser, or to a group of one."""
    for add in arguments:
        add(parser)


# Without it the actor is COMMONPLACE_ACTOR, else the user: at a terminal that is `human:<user>`.
# Elsewhere the actor is unknown: `unnamed:<user>`, which counts as no person.
ACTOR = option(
    "--actor A",
    "who does this, such as human:ana or agent:name (default: COMMONPLACE_ACTOR, else human:<user>, or unnamed:<user> where no terminal is)",
    word,
)
DECIDES = option("--actor A", "who decides", word, required=True)
WHOSE = option("--model PARTITION", "whose acceptances", partition, required=True)
KEPT_REASON = option("--reason R", "a reason to keep with each", text)
NOTE = option("note NOTE_PATH", "the note, by its path below the root", text)
GATES = option("gates GATE_ID...", "gates, by id or path", text)
PARTITION = option(
    "--model PARTITION",
    "the partition to be fresh for; without it, pairs that no partition has reviewed",
    partition,
)

PAGE = (
    option("--after CURSOR", "behind this one: `next` of an earlier answer", text),
    option("--summary", "counts in the place of entries"),
)
LISTING = (option("--limit N", "at most N entries", positive_int), *PAGE)

NOTES = (
    option(
        "--note PATH...",
        "notes and folders, from the root; without it, all notes",
        text,
        dest="notes",
    ),
    option("--current", "only notes whose frontmatter says status: current", dest="current_only"),
)
SCOPE = (
    option(
        "[gates GATE_OR_BUNDLE...]",
        "gate ids (prose/source-residue), gate paths, or bundles (prose); before --note",
        text,
    ),
    option("--all-gates", "every gate there is"),
    *NOTES,
)
SELECTION = (
    option(
        "--mode",
        "requested: every applicable pair, fresh or not (needs --model)",
        (STALE, REQUESTED),
        default=STALE,
    ),
    option(
        "--reason ...",
        "only pairs whose first reason is one of these",
        Staleness.values,
        dest="reasons",
    ),
    option(
        "--flagged-by PARTITION",
        "only pairs that this model partition's current review warns or fails",
        partition,
    ),
    option(
        "--repeat",
        "instead of stale pairs, fresh ones that were reviewed once: to see whether the model"
        " decides alike again (needs --model; --limit takes a sample)",
    ),
    one_of(
        option("--rules-only", "only gates that name a rule: judged for free"),
        option("--skip-rules", "only gates that name no rule: for models"),
    ),
    option("--skip-trivial", "leave out note changes that the gate does not watch, or tolerates"),
    option("--limit N", "at most N pairs; counts stay whole", positive_int),
    option(
        "--no-cache",
        "read every file: for network shares, where no modification time can be trusted",
    ),
)


def harness(*, required: bool) -> tuple[Declare, ...]:
    """Declare who reviewed: the harness, its model and its effort."""
    return (
        option("--runner R", "the harness that reviews", word, required=required),
        option(
            "--runner-model M",
            "its model, which must make the job's partition; leave out when it is not exposed",
            word,
        ),
        one_of(
            option("--runner-effort E", "its reasoning effort", word),
            option(
                "--effort-unknown",
                "the model is known and the effort is not: compare the model only",
            ),
        ),
    )


def runner(*, required: bool) -> tuple[Declare, ...]:
    """Declare the runner, and the model and effort that are passed to it."""
    return (
        option("--runner R", "who reviews", word, required=required),
        option(
            "--runner-model M",
            "the model as the runner calls it, where only its partition is named",
            word,
        ),
        option("--runner-effort E", "its reasoning effort", word),
    )
