"""The options that name a scope of gates and notes; the selector, acks and sweeps have them alike."""

from __future__ import annotations

from django.core.management.base import CommandParser

from review.management.kit.options import text


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
