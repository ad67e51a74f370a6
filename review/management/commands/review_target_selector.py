"""List the (note, gate) pairs that are stale for a model partition, and why.

commonplace review_target_selector --all-gates
commonplace review_target_selector prose --model claude-opus-4-6 --note kb/notes --json
commonplace review_target_selector --all-gates --model m --json | commonplace create_review_jobs --input - --grouping note
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from review.documents.base import Counts, count_by, encode, no_note_found
from review.management import kit
from review.management.kit import output
from review.models import batched
from review.selection.documents import TargetJson
from review.selection.select import Selection, left_out_lines, select_targets

_CHUNK = 500
_EMPTY = '":[]'
_WORDS = {"reason": "reason", "lens": "lens", "gate": "gate_id"}


class Command(kit.ReadingCommand):
    exit_codes = {kit.ExitCode.INPUT_REJECTED: "an unknown gate or note; near matches are named"}
    arguments = {
        **kit.SCOPE,
        "--model PARTITION": "the partition to be fresh for; without it, pairs that no partition"
        " has reviewed",
        **kit.SELECTION,
        "--diff": kit.Option(
            "with diffs from the accepted texts (--json has them unless --no-diff)", default=None
        ),
        "--no-diff": kit.Option("without diffs", action="store_false", dest="diff"),
        **kit.PAGE,
    }

    def run(self, options: kit.Options) -> None:
        with_diffs = self.as_json if options["diff"] is None else options["diff"]
        with_diffs = with_diffs and not options["summary"]
        request = output.selection_request(options, with_diffs=with_diffs)
        selection = select_targets(self.corpus, request)
        summary = count_by(selection.targets(), **_WORDS) if options["summary"] else {}
        if self.as_json:
            self._write_document(selection, summary)
        else:
            self.write_lines(() if summary else output.text_lines(selection))
            document = selection.document()
            document.summary, document.next = summary, selection.next
            stale = sum(
                n for why, n in document.counts.items() if why not in ("fresh", "in-flight")
            )
            self.show(
                document,
                output.tail_lines(document),
                warnings=output.problem_lines(document.problems),
                notices=(
                    *(rename.line for rename in document.renames),
                    *left_out_lines(document.left_out),
                    f"{stale} stale, {document.counts['fresh']} fresh,"
                    f" {document.counts['in-flight']} in open jobs",
                ),
            )
        if not selection.has_notes:
            self.notice(no_note_found(request.notes or self.config.note_roots))

    def _write_document(self, selection: Selection, summary: Counts) -> None:
        document = selection.document()
        document.summary = summary

        def targets() -> Iterator[TargetJson]:
            yield from () if summary else selection.targets()
            document.next = selection.next

        for chunk in _encode_filled(document, targets(), selection.diffs()):
            self.write_raw(kit.printable_json(chunk))
        self.write_raw("\n")


def _encode_filled(frame: msgspec.Struct, *arrays: Iterable[msgspec.Struct]) -> kit.Lines:
    """Yield the document in pieces, byte for byte as `encode` would return it whole.

    :param frame: the document, with these arrays empty; they come first of its arrays, in this order.
        The fields after an array are encoded once the array was read.
    """
    yield encode(frame).split(_EMPTY, len(arrays))[0]
    for number, items in enumerate(arrays, 1):
        yield '":['
        comma = ""
        for some in batched(items, _CHUNK):
            yield comma + msgspec.json.encode(some)[1:-1].decode("utf-8", "surrogatepass")
            comma = ","
        yield f"]{encode(frame).split(_EMPTY, len(arrays))[number]}"
