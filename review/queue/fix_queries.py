"""What is open about one note, gathered for whoever mends it."""

from __future__ import annotations

from review.domain.paths import path_below
from review.errors import ExitCode, ReviewError
from review.knowledge_base import Corpus
from review.protocol.prompt import PromptGate
from review.queue.entries import read_warn_queue
from review.queue.fix_documents import FixPromptJson
from review.queue.fix_prompt import listed, render_fix_prompt
from review.queue.queue import QueueFilter
from review.selection.gate_names import read_named_note


class NothingToFix(ReviewError):
    """The note has no open finding."""

    exit_code = ExitCode.NOTHING_TO_DO


def make_fix_prompt(corpus: Corpus, note: str, *, root: str) -> tuple[FixPromptJson, str]:
    """Return the document and the text of the prompt for whoever mends a note: its open findings, over all gates.

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
    text = render_fix_prompt(
        entries, gates, note_path=now.path, note_text=now.text, note_sha256=now.sha256
    )
    document = FixPromptJson(
        note_path=now.path,
        note_sha256=now.sha256,
        fingerprints=[found.fingerprint for entry in entries for found in listed(entry)],
        prompt=text,
    )
    return document, text
