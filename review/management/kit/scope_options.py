"""The options that name a scope of gates and notes; the selector, acks and sweeps have them alike."""

from __future__ import annotations

from argparse import _ArgumentGroup
from typing import Any

from django.core.management.base import CommandParser

from review.management.kit.command import request_of
from review.management.kit.options import partition, positive_int, text
from review.selection.select import SelectionRequest
from review.vocabulary import REQUESTED, STALE, Staleness


def add_scope_arguments(parser: CommandParser) -> None:
    """Declare gates, `--all-gates`, `--note` and `--current`."""
    parser.add_argument(
        "gates",
        nargs="*",
        type=text,
        metavar="GATE_OR_BUNDLE",
        help="gate ids (prose/source-residue), gate paths, or bundles (prose); before --note",
    )
    parser.add_argument("--all-gates", action="store_true", help="every gate there is")
    add_note_arguments(parser)


def add_note_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--note",
        dest="notes",
        default=[],
        nargs="+",
        action="extend",
        type=text,
        metavar="PATH",
        help="notes and folders, from the root; without it, all notes",
    )
    parser.add_argument(
        "--current",
        dest="current_only",
        action="store_true",
        help="only notes whose frontmatter says status: current",
    )


def add_selection_options(parser: CommandParser | _ArgumentGroup) -> None:
    """Declare which pairs of the scope are selected."""
    parser.add_argument(
        "--mode",
        choices=(STALE, REQUESTED),
        default=STALE,
        help="requested: every applicable pair, fresh or not (needs --model)",
    )
    parser.add_argument(
        "--reason",
        dest="reasons",
        default=[],
        choices=Staleness.values,
        nargs="+",
        action="extend",
        help="only pairs whose first reason is one of these",
    )
    parser.add_argument(
        "--flagged-by",
        type=partition,
        metavar="PARTITION",
        help="only pairs that this model partition's current review warns or fails",
    )
    parser.add_argument(
        "--repeat",
        action="store_true",
        help="instead of stale pairs, fresh ones that were reviewed once: to see whether the model"
        " decides alike again (needs --model; --limit takes a sample)",
    )
    rules = parser.add_mutually_exclusive_group()
    rules.add_argument(
        "--rules-only", action="store_true", help="only gates that name a rule: judged for free"
    )
    rules.add_argument(
        "--skip-rules", action="store_true", help="only gates that name no rule: for models"
    )
    parser.add_argument(
        "--skip-trivial",
        action="store_true",
        help="leave out note changes that the gate does not watch, or tolerates",
    )
    parser.add_argument(
        "--limit", type=positive_int, metavar="N", help="at most N pairs; counts stay whole"
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="read every file: for network shares, where no modification time can be trusted",
    )


def selection_request(options: dict[str, Any], **more: Any) -> SelectionRequest:
    """Return the options' selection, in the partition that `--model` names unless `more` does."""
    mode = REQUESTED if options.get("repeat") else options.get("mode", STALE)
    more = {"model_partition": options["model"], "mode": mode} | more
    return request_of(SelectionRequest, options, **more)
