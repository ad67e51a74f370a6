"""Advance acceptances to today's text, with the review they rest on and its decision. Pairs of one
note are acked all together or not at all; of a selection, each that still has the hashes it lists.

    commonplace ack_gate_review --model claude-opus-4-6 --expect-note-sha SHA kb/notes/a.md prose/x
    commonplace review_target_selector prose/x --reason gate-changed --model M --json | commonplace ack_gate_review --input -
"""

from __future__ import annotations

from review.acceptance.ack import AckRequest, ack_gate_review
from review.acceptance.ack_selection import ack_selection, read_ack_targets
from review.management import kit


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.CONFLICT: "no review to carry, another text or gate, a quote gone (named)",
        kit.ExitCode.INPUT_REJECTED: "no such note or gate, or the input is no selection; nothing written",
    }
    arguments = {
        "[note NOTE_PATH]": "the note, by its path below the root",
        "[gates GATE_ID...]": "gates, by id or path",
        "--model PARTITION": "whose acceptances",
        "--expect-note-sha SHA": kit.Option("refuse any other text", dest="expect_note_sha256"),
        "--accept-gate-change": "the changed gate asks the same",
        "--input FILE|-": "selector JSON",
        "--reason R": "a reason to keep with each",
        **kit.ACTOR,
    }

    def run(self, options: kit.Options) -> None:
        _check_form(options)
        if options["input"]:
            selection, source = self.read_input(options["input"]), options["input"]
            result = ack_selection(
                *read_ack_targets(selection, source=source, config=self.config),
                actor=options["actor"],
                reason=options["reason"] or "",
                corpus=self.corpus,
                now=self.now,
            )
        else:
            request = kit.request_of(AckRequest, options)
            result = ack_gate_review(request, corpus=self.corpus, now=self.now)
        self.show(
            result,
            (
                *(f"acked: {pair.note_path} {pair.gate_id}" for pair in result.acked),
                *(f"already fresh: {it.note_path} {it.gate_id}" for it in result.already_fresh),
            ),
            warnings=(f"refused: {item.message}" for item in result.refused),
        )
        if result.ignored:
            self.notice(f"left: targets that an ack cannot settle: {result.ignored}")
        self.finish(kit.ExitCode.CONFLICT if result.refused else kit.ExitCode.DONE)


def _check_form(options: kit.Options) -> None:
    others = ("expect_note_sha256", "note", "model", "accept_gate_change")
    named = [name for name in others if options[name]]
    words = ", ".join(named).replace("_", "-").replace("sha256", "sha")
    twice = "--input says itself which pairs, partition and texts are meant"
    kit.refuse({twice: options["input"] and named}, hint=f"leave out: {words}")
    unnamed = not options["note"] or not options["gates"]
    wrong = {
        "name a note and its gates, or give --input with a selection": unnamed,
        "say whose acceptances to move: --model PARTITION": not options["model"],
    }
    kit.refuse({} if options["input"] else wrong)
