"""The answer of `commonplace help`: for people, and as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from commonplace_site.catalogue import (
    PROGRAM,
    CommandKind,
    UnknownCommand,
    find_command,
    review_commands,
    script_name,
    site_commands,
)

SCHEMA = "help/1"


def overview() -> str:
    """Every command with its first sentence."""
    names = review_commands()
    width = max(map(len, [*names, *site_commands()]), default=0)
    rows = [
        f"  {name:<{width}}  {_first_sentence(_command('review', name).help)}" for name in names
    ]
    site = [f"  {name}" for name in site_commands()]
    lines = [
        f"usage: {PROGRAM} COMMAND [options]",
        "",
        "commands:",
        *rows,
        "",
        "the site:",
        *site,
        "  migrate, createsuperuser, and every other command of Django",
        "",
        f"{PROGRAM} help COMMAND tells about one; {PROGRAM} help --json about all.",
        "",
    ]
    return "\n".join(lines)


def document(names: Sequence[str] = ()) -> str:
    """The review commands `names`, else all, with options, exit codes and schema, as one JSON line.

    :raises UnknownCommand: one of `names` is no review command.
    """
    chosen = [_review_command(name) for name in names] or review_commands()
    commands = [_described(name) for name in chosen]
    return json.dumps({"schema": SCHEMA, "commands": commands}, ensure_ascii=False) + "\n"


def _review_command(word: str) -> str:
    name, kind = find_command(word)
    if kind is not CommandKind.REVIEW:
        raise UnknownCommand(f"{word} is not a review command", hint=f"see: {PROGRAM} help {word}")
    return name


def _described(name: str) -> dict[str, Any]:
    command = _command("review", name)
    parser = command.create_parser(PROGRAM, name)
    actions = [action for action in parser._actions if action.dest != "help"]
    return {
        "name": name,
        "script": script_name(name),
        "help": command.help,
        "schema": command.schema or None,
        "usage": " ".join(parser.format_usage().removeprefix("usage: ").split()),
        "arguments": [_option(action) for action in actions if not action.option_strings],
        "options": [_option(action) for action in actions if action.option_strings],
        "exit_codes": {str(int(code)): text for code, text in command.all_exit_codes().items()},
        "examples": list(command.examples),
    }


def _option(action: Any) -> dict[str, Any]:
    return {
        "name": action.dest,
        "flags": list(action.option_strings),
        "help": action.help or "",
        "required": bool(action.required),
        "takes_value": action.nargs != 0,
        "many": action.nargs in ("*", "+") or type(action).__name__ == "_AppendAction",
        "choices": None if action.choices is None else [str(choice) for choice in action.choices],
        "metavar": action.metavar,
    }


def _command(package: str, name: str) -> Any:
    return import_module(f"{package}.management.commands.{name}").Command()


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".")
