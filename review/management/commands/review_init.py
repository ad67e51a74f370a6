"""Copy the starter gates, types, agent instructions and review.toml into a repository, and make
kb/notes. Files that are there are never overwritten. kb/reports gets a .gitignore of its own, so
that the store stays out of version control; no other .gitignore is touched.

    commonplace review_init --dry-run
    commonplace review_init --into ~/notes
    commonplace review_init --mcp
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from review import settings
from review.domain.markdown.flavours import COMMONMARK
from review.management.kit import ExitCode, Lines, Option, Options, StorelessCommand, path, told
from review.setup.init import NOTES_FOLDER, SETTINGS, InitJson, has_notes, initialise

# Codex reads no settings of a repository, and does not wait for servers unless required.
_CODEX = """\
for Codex, in ~/.codex/config.toml:
[mcp_servers.commonplace]
command = {program}
args = ["mcp"]
env = {{ COMMONPLACE_ROOT = {root} }}
required = true
default_tools_approval_mode = "approve"
"""
_NO_NOTES = (
    f"there are no notes yet: put Markdown files under {NOTES_FOLDER}, or name the folders that hold"
    ' them in kb/review.toml ([notes] roots; "." is the repository itself)'
)
_ROOTS = "notes are taken from: {} (roots under [notes] in kb/review.toml)"
_FLAVOUR = (
    "the dialect nearest to that of the notes is {0!r}: {1}kb/review.toml says"
    ' `flavour = "{0}"` under [notes]'
)
_MDX = "files that end in .mdx are no notes, and left out: {}"


class Command(StorelessCommand):
    exit_codes = {
        ExitCode.FAILED: "a file could not be written; run it again when that is mended",
        ExitCode.INPUT_REJECTED: "a file stands where a folder must be; nothing was written",
    }
    arguments = {
        "--into DIR": Option(
            "the repository's root (default: COMMONPLACE_ROOT, else the knowledge base that the current folder is in, else the current folder)",
            type=path,
        ),
        "--dry-run": "say what would be created, write nothing",
        "--mcp": "write .mcp.json for MCP clients, and print the table for Codex",
    }

    def run(self, options: Options) -> None:
        into: Path = options["into"] or settings.root_to_start()
        done = initialise(into, dry_run=options["dry_run"], mcp=options["mcp"])
        # Codex is started without the environment's PATH.
        program = json.dumps(str(Path(sys.argv[0]).absolute()))
        codex = _CODEX.format(root=json.dumps(str(into)), program=program)
        no_notes = None if has_notes(into) else _NO_NOTES
        notices = told(
            _FLAVOUR.format(done.flavour, "check that " * (SETTINGS in done.kept))
            if done.flavour != COMMONMARK.name
            else None,
            _MDX.format(done.mdx) if done.mdx else None,
            _ROOTS.format(", ".join(done.roots)) if done.roots else no_notes,
            f"next: {done.next}",
        )
        self.show(
            done, (*_lines(done), *(codex.splitlines() if options["mcp"] else ())), notices=notices
        )


def _lines(done: InitJson) -> Lines:
    verb = "would create" if done.dry_run else "created"
    # The cases of a gate by their folder: they are more than all other files.
    parts = (name.partition(".cases/") for name in done.created)
    names = (f"{head}{folder}" for head, folder, _name in parts)
    yield from (f"{verb}: {name}" for name in dict.fromkeys(names))
    for name in done.kept:
        differs = " (differs from the starter)" if name in done.differing else ""
        yield f"kept: {name}{differs}"
