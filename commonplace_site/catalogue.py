"""The list of commands, found by their files without an import."""

from __future__ import annotations

from enum import Enum
from importlib.util import find_spec
from pathlib import Path

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


class UnknownCommand(UsageRefused):
    """There is no such command."""

    code = "unknown-command"


class CommandKind(Enum):
    """The owner of a command, which decides its settings."""

    REVIEW = "review"
    SITE = "site"
    DJANGO = "django"


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


def script_name(command: str) -> str:
    """The console script of a command: `commonplace-claim-review-job`."""
    return f"{PROGRAM}-{command.replace('_', '-')}"


def find_command(word: str) -> tuple[str, CommandKind]:
    """The command that `word` names, with underscores or dashes, and whose it is.

    :raises UnknownCommand: there is none; the hint names near ones.
    """
    name = word.replace("-", "_")
    if name.isidentifier() and not name.startswith("_"):
        for kind, commands in _COMMANDS.items():
            if name in commands():
                return name, kind
    raise UnknownCommand(f"unknown command: {word}", hint=_near(name))


_COMMANDS = {
    CommandKind.REVIEW: review_commands,
    CommandKind.SITE: site_commands,
    CommandKind.DJANGO: django_commands,
}


def _names(package: Path) -> list[str]:
    files = (package / "management" / "commands").glob("*.py")
    return sorted(file.stem for file in files if not file.stem.startswith("_"))


def _near(name: str) -> str:
    import difflib

    known = [*review_commands(), *site_commands(), *_OFTEN_USED]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    help_line = f"see: {PROGRAM} help"
    return f"did you mean {' or '.join(near)}? {help_line}" if near else help_line
