"""`review_init`: sets a repository up for reviews."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.domain.markdown.flavours import COMMONMARK
from review.errors import ExitCode
from review.management.kit.command import ReviewCommand
from review.management.kit.options import path
from review.setup.init import NOTES_FOLDER, InitJson, has_notes, initialise

# Codex reads no settings of a repository, and does not wait for servers unless required.
_CODEX = """\
for Codex, in ~/.codex/config.toml:
[mcp_servers.commonplace]
command = "commonplace"
args = ["mcp"]
env = {{ COMMONPLACE_ROOT = {root} }}
required = true
default_tools_approval_mode = "approve"
"""
_FLAVOUR = (
    'the notes look like those of {0!r}: check that kb/review.toml says `flavour = "{0}"`'
    " under [notes]"
)


class Command(ReviewCommand):
    help = (
        "Copy the starter gates, types, agent instructions and review.toml into a repository, and"
        " make kb/notes. Files that are there are never overwritten. kb/reports gets a .gitignore of"
        " its own, so that the store stays out of version control; no other .gitignore is touched."
    )
    schema = "review-init/1"
    store_use = store.Use.NONE
    examples = (
        "commonplace review_init --dry-run",
        "commonplace review_init --into ~/notes",
        "commonplace review_init --mcp",
    )
    exit_codes = {
        ExitCode.FAILED: "a file could not be written; run it again when that is mended",
        ExitCode.INPUT_REJECTED: "a file stands where a folder must be; nothing was written",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--into",
            type=path,
            metavar="DIR",
            help="the repository's root (default: COMMONPLACE_ROOT, else the knowledge base that"
            " the current folder is in, else the current folder)",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be created, write nothing"
        )
        parser.add_argument(
            "--mcp",
            action="store_true",
            help="write .mcp.json for MCP clients, and print the table for Codex",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        into: Path = options["into"] or settings.root_to_start()
        done = initialise(into, dry_run=options["dry_run"], mcp=options["mcp"])
        self.show(done, _lines(done))
        if self.as_json:
            return
        if options["mcp"]:
            self.write_text(_CODEX.format(root=json.dumps(str(into))))
        if done.flavour != COMMONMARK.name:
            self.notice(_FLAVOUR.format(done.flavour))
        if not has_notes(into):
            self.notice(
                f"there are no notes yet: put Markdown files under {NOTES_FOLDER}, or name the"
                " folders that hold them in kb/review.toml ([notes] roots)"
            )
        self.notice(f"next: {done.next}")


def _lines(done: InitJson) -> Iterator[str]:
    verb = "would create" if done.dry_run else "created"
    # The cases of a gate by their folder: they are more than all other files.
    parts = (name.partition(".cases/") for name in done.created)
    names = (f"{head}{folder}" for head, folder, _name in parts)
    yield from (f"{verb}: {name}" for name in dict.fromkeys(names))
    for name in done.kept:
        differs = " (differs from the starter)" if name in done.differing else ""
        yield f"kept: {name}{differs}"
