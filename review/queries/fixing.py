"""What is open about one note, gathered for whoever mends it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from review.contracts.queue import QueueEntryJson
from review.corpus import Corpus
from review.domain.identity import path_below
from review.errors import ExitCode, ReviewError
from review.models import ReviewStore
from review.protocol.fix_prompt import (
    FixFinding,
    FixGate,
    FixRequest,
    FixReview,
    draw_token,
    render_fix_prompt,
)
from review.queries.gate_listing import read_named_note
from review.queries.warn_queue import QueueRequest, read_warn_queue
from review.vocabulary import Severity


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
    """The prompt for whoever mends a note; raises as `read_fix_request` does."""
    request = read_fix_request(corpus, note, root=root)
    # The store's id: what frames the texts must not be known to who writes them.
    secret = ReviewStore.objects.identity()
    return FixPrompt(
        note_path=request.note_path,
        note_sha256=request.note_sha256,
        fingerprints=tuple(finding.fingerprint for finding in request.findings),
        text=render_fix_prompt(request, token=draw_token(request, secret=secret)),
    )


def read_fix_request(corpus: Corpus, note: str, *, root: str) -> FixRequest:
    """Every open finding of a note, over all gates, with the gates' texts and today's note.

    :param note: a path below the root, as written.
    :raises NoSuchNote: there is no such note.
    :raises UnreadableFile: the file cannot be taken as a note.
    :raises NothingToFix: nothing is open.
    """
    path = read_named_note(corpus, path_below(root, note)).path
    entries = list(read_warn_queue(corpus, QueueRequest(notes=(path,))).entries)
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
        findings=[finding for entry in entries for finding in _findings(entry)],
        reviews=_reviews(entries),
        gates=[_gate(corpus, entry) for entry in entries],
    )


def _findings(entry: QueueEntryJson) -> list[FixFinding]:
    return [
        FixFinding(
            fingerprint=found.fingerprint,
            severity=Severity(found.severity),
            gate_id=entry.gate_id,
            text=found.text,
            quote=found.quote,
            line=found.line_now,
            regressed=found.regressed,
        )
        for found in entry.findings
    ]


def _reviews(entries: Sequence[QueueEntryJson]) -> list[FixReview]:
    return [FixReview(entry.gate_id, entry.decision, entry.rationale or "") for entry in entries]


def _gate(corpus: Corpus, entry: QueueEntryJson) -> FixGate:
    return FixGate(entry.gate_id, entry.gate_path, corpus.gate(entry.gate_path).text)
