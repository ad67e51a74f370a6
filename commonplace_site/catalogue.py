"""The list of commands, found by their files without an import; what `commonplace help` says."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import django

import review
from review.errors import UsageRefused

PROGRAM = "commonplace"
_OFTEN_USED = ("help", "version", "migrate", "createsuperuser", "changepassword")
_DJANGO_PARTS = (
    "core",
    "contrib/auth",
    "contrib/contenttypes",
    "contrib/sessions",
    "contrib/staticfiles",
)


def review_commands() -> list[str]:
    """The commands that agents run, under the lean settings; sorted."""
    return _names(Path(review.__file__).parent)


def site_commands() -> list[str]:
    """The commands of the site, under the web settings; sorted."""
    return _names(Path(__file__).parent)


def django_commands() -> list[str]:
    """The commands of Django and django-extensions, under the web settings; sorted."""
    packages = [Path(django.__path__[0]) / part for part in _DJANGO_PARTS]
    if (extensions := find_spec("django_extensions")) is not None:
        packages += map(Path, extensions.submodule_search_locations or ())
    return sorted({name for package in packages for name in _names(package)})


def find_command(word: str) -> tuple[str, str]:
    """The command that `word` names, with underscores or dashes, and the package that it is of.

    :raises UsageRefused: there is none; the hint names near ones.
    """
    name = word.replace("-", "_")
    if name.isidentifier() and not name.startswith("_"):
        for owner, commands in _COMMANDS.items():
            if name in commands():
                return name, owner
    raise UsageRefused(f"unknown command: {word}", "unknown-command", hint=_near(name))


# The packages that commands are of, which decide their settings.
OURS, SITE, DJANGO = "review", "commonplace_site", "django"
_COMMANDS = {OURS: review_commands, SITE: site_commands, DJANGO: django_commands}


def _names(package: Path) -> list[str]:
    files = (package / "management" / "commands").glob("*.py")
    return sorted(file.stem for file in files if not file.stem.startswith("_"))


def _near(name: str) -> str:
    import difflib

    known = [*review_commands(), *site_commands(), *_OFTEN_USED]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    help_line = f"see: {PROGRAM} help"
    return f"did you mean {' or '.join(near)}? {help_line}" if near else help_line


SCHEMA = "help/1"


def overview() -> str:
    """Every command with its first sentence."""
    names = review_commands()
    width = max(map(len, [*names, *site_commands()]), default=0)
    rows = [
        f"  {name:<{width}}  {_first_sentence(load_command(OURS, name).help)}" for name in names
    ]
    site = [f"  {name:<{width}}  {_about_site(name)}" for name in site_commands()]
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

    :raises UsageRefused: one of `names` is no review command.
    """
    chosen = [_review_command(name) for name in names] or review_commands()
    commands = [_described(name) for name in chosen]
    return json.dumps({"schema": SCHEMA, "commands": commands}, ensure_ascii=False) + "\n"


def _review_command(word: str) -> str:
    name, owner = find_command(word)
    if owner != OURS:
        raise UsageRefused(
            f"{word} is not a review command", "unknown-command", hint=f"see: {PROGRAM} help {word}"
        )
    return name


def _described(name: str) -> dict[str, Any]:
    command = load_command(OURS, name)
    parser = command.create_parser(PROGRAM, name)
    actions = [action for action in parser._actions if action.dest != "help"]
    return {
        "name": name,
        "script": f"{PROGRAM}-{name.replace('_', '-')}",
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


def load_command(package: str, name: str) -> Any:
    return import_module(f"{package}.management.commands.{name}").Command()


def _about_site(name: str) -> str:
    """The docstring of a command's module, which needs the web settings to be imported."""
    source = Path(__file__).parent / "management" / "commands" / f"{name}.py"
    return _first_sentence(ast.get_docstring(ast.parse(source.read_text("utf-8"))) or "")


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".")
