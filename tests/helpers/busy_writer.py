"""A process for tests that has notes reviewed again and again, until a file says that it is enough."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from pathlib import Path

from tests.helpers.commands import Result
from tests.helpers.story import FINDINGS, Story


def main(note: str, stop: str) -> None:
    """Review `note` until there is a file `stop`; ends with an error when a command does."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    root = Path(os.environ["COMMONPLACE_ROOT"])
    story = Story(root, _do)
    while not Path(stop).exists():
        story.ingest(story.claimed(note, force=True), FINDINGS)


def _do(name: str, *args: object, stdin: str | None = None) -> Result:
    out, err = io.StringIO(), io.StringIO()
    command = import_module(f"review.management.commands.{name}").Command(stdout=out, stderr=err)
    stream = None if stdin is None else io.BytesIO(stdin.encode())
    code = command.answer(["commonplace", name, *map(str, args)], stdin=stream)
    return Result(code, out.getvalue(), err.getvalue())


if __name__ == "__main__":
    main(*sys.argv[1:])
