"""Ack pairs whose note changed in nothing that the gate watches, or by no more than it tolerates;
the gate itself is unchanged. The change is measured from the text that was reviewed, not from the
last ack. Pairs that a person accepted without a review are listed, and left as they are.

    commonplace ack_trivial_changes --model claude-opus-4-6 --all-gates --dry-run
    commonplace ack_trivial_changes --model claude-opus-4-6 prose --note kb/notes
"""

from __future__ import annotations

from review.acceptance.ack_selection import ack_trivial_changes
from review.jobs.provenance import unknown_partitions
from review.management.kit import ACTOR, SCOPE, ExitCode, Option, Options, ReviewCommand
from review.management.kit.output import problem_lines, selection_request
from review.selection.select import left_out_lines


class Command(ReviewCommand):
    exit_codes = {
        ExitCode.CONFLICT: "a text or review moved meanwhile: that pair was refused by name",
        ExitCode.INPUT_REJECTED: "an unknown gate or note; near matches are named",
    }
    arguments = {
        **SCOPE,
        "--model PARTITION": Option("whose acceptances", required=True),
        "--reason R": "a reason to keep with each",
        "--dry-run": "say what would be acked",
        **ACTOR,
    }

    def run(self, options: Options) -> None:
        result = ack_trivial_changes(
            selection_request(options),
            actor=options["actor"],
            reason=options["reason"] or "",
            dry_run=options["dry_run"],
            corpus=self.corpus,
            now=self.now,
        )
        word = "would ack" if result.dry_run else "acked"
        trivial = [f"{word}: {pair.note_path} {pair.gate_id}" for pair in result.acked]
        self.show(
            result,
            trivial,
            warnings=(
                *(f"refused: {item.message}" for item in result.refused),
                *(
                    f"left: {pair.note_path} {pair.gate_id}: a person accepted it without a review"
                    for pair in result.left
                ),
                *problem_lines(result.problems),
            ),
            notices=(
                *unknown_partitions([options["model"]], config=self.config),
                *left_out_lines(result.left_out),
                *(() if trivial else ("no trivial change in this scope",)),
            ),
            code=ExitCode.CONFLICT if result.refused else ExitCode.DONE,
        )
