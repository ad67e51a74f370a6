"""`review_target_selector`: lists stale pairs and why they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

import msgspec
from django.core.management.base import CommandParser

from review import settings, store
from review.documents.base import encode
from review.documents.paging import Counts, count_by
from review.documents.problems import no_note_found
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.listing import add_listing_options, tail_lines
from review.management.kit.options import partition
from review.management.kit.scope_options import (
    add_scope_arguments,
    add_selection_options,
    selection_request,
)
from review.management.output.selection import (
    left_out_lines,
    problem_lines,
    summary_line,
    text_lines,
)
from review.models import batched
from review.selection.documents import TargetJson
from review.selection.select import Selection, select_targets

_CHUNK = 500
_EMPTY = '":[]'
_WORDS = {
    name: attrgetter(column)
    for name, column in (("reason", "reason"), ("lens", "lens"), ("gate", "gate_id"))
}


class Command(ReviewCommand):
    help = "List the (note, gate) pairs that are stale for a model partition, and why."
    schema = "review-target-selector/1"
    store_use = store.Use.READ
    examples = (
        "commonplace review_target_selector --all-gates",
        "commonplace review_target_selector prose --model claude-opus-4-6 --note kb/notes --json",
        "commonplace review_target_selector --all-gates --model m --json | commonplace create_review_jobs --input - --grouping note",
    )
    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown gate or note; near matches are named"}

    def add_arguments(self, parser: CommandParser) -> None:
        add_scope_arguments(parser)
        parser.add_argument(
            "--model",
            type=partition,
            metavar="PARTITION",
            help="the partition to be fresh for; without it, pairs that no partition has reviewed",
        )
        add_selection_options(parser)
        parser.add_argument(
            "--diff",
            action="store_true",
            default=None,
            help="with diffs from the accepted texts (--json has them unless --no-diff)",
        )
        parser.add_argument("--no-diff", action="store_false", dest="diff", help="without diffs")
        add_listing_options(parser, limit=False)

    def handle(self, *args: Any, **options: Any) -> None:
        with_diffs = self.as_json if options["diff"] is None else options["diff"]
        with_diffs = with_diffs and not options["summary"]
        request = selection_request(options, with_diffs=with_diffs)
        config = settings.current()
        with open_corpus(config, use_cache=not options["no_cache"]) as corpus:
            selection = select_targets(corpus, request)
            summary = count_by(selection.targets(), **_WORDS) if options["summary"] else {}
            if self.as_json:
                self._write_document(selection, summary)
            else:
                self.write_lines(() if summary else text_lines(selection))
                self.write_lines(tail_lines(summary, selection.next))
                for line in problem_lines(selection.problems):
                    self.warn(line)
                for rename in selection.renames():
                    self.notice(rename.line)
                for line in left_out_lines(selection.left_out):
                    self.notice(line)
                self.notice(summary_line(selection))
        if not selection.has_notes:
            self.notice(no_note_found(request.notes or config.note_roots))

    def _write_document(self, selection: Selection, summary: Counts) -> None:
        document = selection.document()
        document.summary = summary

        def targets() -> Iterator[TargetJson]:
            yield from () if summary else selection.targets()
            document.next = selection.next

        arrays = (targets(), selection.diffs())
        self.write_json_chunks(_encode_filled(document, *arrays, at_once=_CHUNK))


def _encode_filled(
    frame: msgspec.Struct, *arrays: Iterable[msgspec.Struct], at_once: int
) -> Iterator[str]:
    """Yield the document in pieces, byte for byte as `encode` would return it whole.

    :param frame: the document, with these arrays empty; they come first of its arrays, in this order.
        The fields after an array are encoded once the array was read.
    """
    yield encode(frame).split(_EMPTY, len(arrays))[0]
    for number, items in enumerate(arrays, 1):
        yield '":['
        comma = ""
        for some in batched(items, at_once):
            array = msgspec.json.encode(some)[1:-1]
            yield comma + array.decode("utf-8", "surrogatepass")
            comma = ","
        yield f"]{encode(frame).split(_EMPTY, len(arrays))[number]}"
