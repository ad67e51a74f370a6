"""The queue's JSON, written in pieces, is the document as a whole."""

from __future__ import annotations

import pytest

from review.documents.base import encode
from review.documents.paging import Listed
from review.documents.problems import problem_json
from review.domain.problems import Problem
from review.findings.documents import QueueEntryJson, QueueFindingJson, QueueJson
from review.management.commands.warn_selector import queue_chunks
from review.queue.entries import WarnQueue
from review.vocabulary import ProblemCode

PROBLEM = Problem("kb/notes/[].md", ProblemCode.VANISHED, "it [] went", skipped=True)


def entry(number: int) -> QueueEntryJson:
    return QueueEntryJson(
        note_path=f"kb/notes/{number}-é[].md",
        gate_path="kb/instructions/review-gates/prose/x.md",
        gate_id="prose/x",
        lens="prose",
        model_partition="m",
        decision="warn",
        review_pair_id=number,
        accepted_at=None,
        note_changed_since=False,
        later_pass_in=("a",) if number % 2 else (),
        findings=[
            QueueFindingJson(
                fingerprint="f",
                severity="warn",
                text='a "text" [] \x1b',
                quote="",
                line=None,
                line_now=1,
                status="open",
                regressed=False,
            )
        ],
        rationale="two\nlines",
    )


@pytest.mark.parametrize("number", [0, 1, 199, 200, 201, 401])
@pytest.mark.parametrize("gone", [0, 1, 200])
@pytest.mark.parametrize("problems", [(), (PROBLEM,)], ids=["sound", "a problem"])
def test_pieces_put_together_are_the_document(number, gone, problems):
    queue = WarnQueue(
        entries=tuple(map(entry, range(number))),
        deleted_notes=tuple(map(entry, range(gone))),
        problems=problems,
    )

    pieces = list(
        queue_chunks(
            queue,
            Listed(queue.entries, key=lambda item: (item.note_path,)),
            queue.deleted_notes,
            {},
        )
    )

    whole = QueueJson(
        entries=list(queue.entries),
        deleted_notes=list(queue.deleted_notes),
        problems=[problem_json(problem) for problem in problems],
    )
    assert "".join(pieces) == encode(whole)
    assert (
        max(map(len, pieces))
        <= len(encode(QueueJson(entries=[*map(entry, range(200))], deleted_notes=[], problems=[])))
        + 500
    )
