"""What is open about one note, gathered for whoever mends it."""

from __future__ import annotations

from dataclasses import dataclass

from review.domain.paths import path_below
from review.errors import ExitCode, ReviewError
from review.knowledge_base import Corpus
from review.protocol.prompt import PromptGate
from review.queue.fix_prompt import listed, render_fix_prompt
from review.queue.queue import QueueFilter
from review.queue.warn_queue import read_warn_queue
from review.selection.gate_names import read_named_note


class NothingToFix(ReviewError):
    """The note has no open finding."""

    exit_code = ExitCode.NOTHING_TO_DO


@dataclass(frozen=True)
class FixPrompt:
    """A rendered prompt, the digest of the note it shows, and the findings it asks to mend."""

    note_path: str
    note_sha256: str
    fingerprints: tuple[str, ...]
    text: str


def make_fix_prompt(corpus: Corpus, note: str, *, root: str) -> FixPrompt:
    """Render the prompt for whoever mends a note: its open findings, over all gates.

    :param note: a path below the root, as written.
    :raises NoSuchNote: there is no such note.
    :raises UnreadableFile: the file cannot be taken as a note.
    :raises NothingToFix: nothing is open.
    """
    now = read_named_note(corpus, path_below(root, note))
    entries = list(read_warn_queue(corpus, QueueFilter(notes=(now.path,))).entries)
    if not entries:
        raise NothingToFix(
            f"{now.path}: no finding is open",
            hint="what is open elsewhere: commonplace warn_selector",
        )
    gates = [
        PromptGate(entry.gate_id, entry.gate_path, corpus.gate(entry.gate_path).text)
        for entry in entries
    ]
    return FixPrompt(
        note_path=now.path,
        note_sha256=now.sha256,
        fingerprints=tuple(found.fingerprint for entry in entries for found in listed(entry)),
        text=render_fix_prompt(
            entries, gates, note_path=now.path, note_text=now.text, note_sha256=now.sha256
        ),
    )
