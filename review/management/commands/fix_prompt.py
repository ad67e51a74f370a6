"""`fix_prompt`: one prompt with all that is open about a note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode
from review.job_files.atomic_write import write_whole
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import source, text
from review.management.kit.streams import refuse_to_overwrite
from review.queue.fix_prompt import make_fix_prompt

# How every prompt begins: a file that does may be replaced.
_BEGINNING = b"# Task\n\nYou edit one note"


class Command(ReviewCommand):
    help = (
        "Give one prompt with every open finding of a note, over all gates: quotes,"
        " today's lines, the gates' own words and the note. Whoever gets it sets priorities and"
        " edits the note."
    )
    schema = "fix-prompt/1"
    store_use = store.Use.READ
    examples = (
        "commonplace fix_prompt kb/notes/a.md",
        "commonplace fix_prompt kb/notes/a.md --output /tmp/fix.md",
    )
    exit_codes = {
        ExitCode.NOTHING_TO_DO: "no finding of the note is open",
        ExitCode.INPUT_REJECTED: "no such note",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("note", type=text, metavar="NOTE_PATH", help="the note to mend")
        parser.add_argument(
            "--output",
            type=source,
            metavar="FILE",
            help="write the prompt here, byte-exact, instead of printing it; - prints it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        config = settings.current()
        with open_corpus(config) as corpus:
            document, prompt = make_fix_prompt(corpus, options["note"], root=str(config.root))
        if options["output"] not in (None, "-"):
            output = Path(options["output"])
            refuse_to_overwrite(output, config=config, starts_with=_BEGINNING)
            write_whole(output, prompt.encode())
            document.output, document.prompt = str(output), None
        if self.as_json:
            self.write_json(document)
        elif document.output is None:
            self.write_text(prompt)
        else:
            self.notice(f"written: {document.output} (findings: {len(document.fingerprints)})")
