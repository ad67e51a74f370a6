"""The options that name a scope of gates and notes; the selector, acks and sweeps have them alike."""

from __future__ import annotations

from argparse import _ArgumentGroup
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from review.management.kit.options import partition, positive_int, text
from review.vocabulary import REQUESTED, STALE, Staleness

if TYPE_CHECKING:
    from review.selection.select import SelectionRequest


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
        nargs="+",
        action="extend",
        type=text,
        metavar="PATH",
        help="notes and folders, from the root; without it, all notes",
    )
    parser.add_argument(
        "--current", action="store_true", help="only notes whose frontmatter says status: current"
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


def selection_request(
    options: dict[str, Any], *, model_partition: str | None, with_diffs: bool = False
) -> SelectionRequest:
    """Return what the options of a scope ask for, with those of a selection where it has them."""
    from review.selection.select import SelectionRequest

    return SelectionRequest(
        gates=tuple(options["gates"]),
        all_gates=options["all_gates"],
        notes=tuple(options["note"] or ()),
        current_only=options["current"],
        model_partition=model_partition,
        mode=REQUESTED if options.get("repeat") else options.get("mode", STALE),
        reasons=tuple(Staleness(reason) for reason in options.get("reason") or ()),
        rules_only=options.get("rules_only", False),
        skip_rules=options.get("skip_rules", False),
        skip_trivial=options.get("skip_trivial", False),
        with_diffs=with_diffs,
        limit=options.get("limit"),
        flagged_by=options.get("flagged_by") or "",
        repeat=options.get("repeat", False),
        after=options.get("after"),
    )
