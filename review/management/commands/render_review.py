"""`render_review`: what a review said, on which text, and what became of it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand, request_of, require_option
from review.management.kit.options import partition, positive_int, text
from review.management.output.reviews import review_lines
from review.reviews.read import HistoryRequest, read_reviews


class Command(ReviewCommand):
    help = (
        "Show the review that stands for a note, by each gate and partition, or one review by its"
        " pair: decision, provenance, the exact texts, findings with lines, and the review's text."
        " Notes that are gone have their reviews too."
    )
    schema = "render-review/1"
    store_use = store.Use.READ
    examples = (
        "commonplace render_review --note kb/notes/a.md",
        "commonplace render_review --note kb/notes/a.md --gate prose/source-residue --model rules",
        "commonplace render_review --review-pair-id 31 --json",
    )
    exit_codes = {ExitCode.INPUT_REJECTED: "there is no such review; what is near is named"}

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--note", type=text, metavar="PATH", help="the reviews of this note")
        which.add_argument(
            "--review-pair-id", type=positive_int, metavar="N", help="this review alone"
        )
        parser.add_argument(
            "--gate", type=text, metavar="ID", help="with --note: by this gate, by id or path"
        )
        parser.add_argument(
            "--model", type=partition, metavar="P", help="with --note: in this model partition"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        require_option(options, "note", "gate", "model")
        request = request_of(
            HistoryRequest,
            options,
            pair_id=options["review_pair_id"],
            model_partition=options["model"] or "",
        )
        config = settings.current()
        with open_corpus(config) as corpus:
            rendered = read_reviews(corpus, request, config=config)
        self.show(rendered, review_lines(rendered))
