"""The prompt with all open findings of one note."""

from __future__ import annotations

from review.documents.base import Document
from review.errors import ExitCode, ReviewError
from review.knowledge_base import Corpus
from review.models import ReviewStore
from review.protocol.fix_prompt import (
    FixFinding,
    FixGate,
    FixRequest,
    FixReview,
    draw_token,
    render_fix_prompt,
)
from review.queue.entries import read_warn_queue
from review.queue.queue import QueueFilter
from review.selection.gate_names import read_named_note
from review.vocabulary import Severity


class NothingToFix(ReviewError):
    """The note has no open finding."""

    exit_code = ExitCode.NOTHING_TO_DO


class FixPromptJson(Document, kw_only=True):
    """The answer of `fix_prompt`; `prompt` is null if it was written to `output`."""

    schema: str = "fix-prompt/1"
    note_path: str
    note_sha256: str
    fingerprints: list[str]
    output: str | None = None
    prompt: str | None


def make_fix_prompt(corpus: Corpus, note: str, *, root: str) -> tuple[FixPromptJson, str]:
    """Return the document and the text of the prompt; raises as `read_fix_request` does."""
    request = read_fix_request(corpus, note, root=root)
    # The store's id: whoever writes the texts must not know what frames them.
    secret = ReviewStore.objects.identity()
    text = render_fix_prompt(request, token=draw_token(request, secret=secret))
    document = FixPromptJson(
        note_path=request.note_path,
        note_sha256=request.note_sha256,
        fingerprints=[finding.fingerprint for finding in request.findings],
        prompt=text,
    )
    return document, text


def read_fix_request(corpus: Corpus, note: str, *, root: str) -> FixRequest:
    """Read every open finding of a note, over all gates, with the gates' texts and today's note.

    :param note: a path below the root, as written.
    :raises NoSuchNote: there is no such note.
    :raises UnreadableFile: the file cannot be taken as a note.
    :raises NothingToFix: nothing is open.
    """
    path = read_named_note(corpus, note, root=root).path
    entries = list(read_warn_queue(corpus, QueueFilter(notes=(path,))).entries)
    if not entries:
        raise NothingToFix(
            f"{path}: no finding is open",
            hint="what is open elsewhere: commonplace warn_selector",
        )
    text = corpus.read_note(path)
    return FixRequest(
        note_path=path,
        note_sha256=text.sha256,
        note_text=text.text,
        findings=[
            FixFinding(
                fingerprint=found.fingerprint,
                severity=Severity(found.severity),
                gate_id=entry.gate_id,
                text=found.text,
                quote=found.quote,
                line=found.line_now,
                regressed=found.regressed,
            )
            for entry in entries
            for found in entry.findings
            if not found.of_whole_review
        ],
        reviews=[
            FixReview(entry.gate_id, entry.decision, entry.rationale or "") for entry in entries
        ],
        gates=[
            FixGate(entry.gate_id, entry.gate_path, corpus.gate(entry.gate_path).text)
            for entry in entries
        ],
    )
