"""`ack_gate_review`: says that a review still holds for the text as it is now."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.acceptance.ack import AckRequest, ack_gate_review
from review.acceptance.ack_selection import ack_selection, read_ack_targets
from review.acceptance.documents import AcksJson
from review.errors import ExitCode, UsageRefused
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand, request_of
from review.management.kit.options import partition, source, text


class Command(ReviewCommand):
    help = (
        "Advance acceptances to today's text, with the review they rest on and its decision. Pairs "
        "of one note are acked all together or not at all; of a selection, each that still has the "
        "hashes it lists."
    )
    schema = "ack-gate-review/1"
    examples = (
        "commonplace ack_gate_review --model claude-opus-4-6 --expect-note-sha SHA kb/notes/a.md prose/x",
        "commonplace review_target_selector prose/x --reason gate-changed --model M --json | commonplace ack_gate_review --input -",
    )
    exit_codes = {
        ExitCode.CONFLICT: "no review to carry, the gate changed too, or a text was edited meanwhile (named)",
        ExitCode.INPUT_REJECTED: "no such note or gate, or the input is no selection; nothing written",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "note",
            nargs="?",
            type=text,
            metavar="NOTE_PATH",
            help="the note, by its path below the root",
        )
        parser.add_argument(
            "gates", nargs="*", type=text, metavar="GATE_ID", help="gates, by id or path"
        )
        parser.add_argument(
            "--model", type=partition, metavar="PARTITION", help="whose acceptances"
        )
        parser.add_argument(
            "--expect-note-sha",
            dest="expect_note_sha256",
            type=_digest,
            metavar="SHA",
            help="refuse any other text",
        )
        parser.add_argument(
            "--accept-gate-change", action="store_true", help="the changed gate asks the same"
        )
        parser.add_argument("--input", type=source, metavar="FILE|-", help="selector JSON")
        parser.add_argument("--reason", type=text, metavar="R", help="a reason to keep with each")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        _check_form(options)
        options["reason"] = options["reason"] or ""
        config = settings.current()
        with open_corpus(config) as corpus:
            if options["input"]:
                name = options["input"]
                selection = self.read_input(name)
                result = ack_selection(
                    *read_ack_targets(selection, source=name, config=config),
                    actor=options["actor"],
                    reason=options["reason"],
                    corpus=corpus,
                    now=self.now,
                )
            else:
                request = request_of(AckRequest, options, model_partition=options["model"])
                result = ack_gate_review(request, corpus=corpus, now=self.now)
        self.show(result, _lines(result))
        if not self.as_json:
            for item in result.refused:
                self.warn(f"refused: {item.message}")
        if result.ignored:
            self.notice(f"left: targets that an ack cannot settle: {result.ignored}")
        self.finish(ExitCode.CONFLICT if result.refused else ExitCode.DONE)


def _check_form(options: dict[str, Any]) -> None:
    if options["input"]:
        told = {"expect-note-sha": options["expect_note_sha256"]}
        told |= {name: options[name] for name in ("note", "model")}
        told["accept-gate-change"] = options["accept_gate_change"]
        if named := [name for name, value in told.items() if value]:
            raise UsageRefused(
                "--input says itself which pairs, partition and texts are meant",
                hint=f"leave out: {', '.join(named)}",
            )
    elif not options["note"] or not options["gates"]:
        raise UsageRefused("name a note and its gates, or give --input with a selection")
    elif not options["model"]:
        raise UsageRefused("say whose acceptances to move: --model PARTITION")


def _digest(raw: str) -> str:
    """A SHA-256 as 64 hex digits."""
    digest = raw.strip().lower()
    if re.fullmatch("[0-9a-f]{64}", digest) is None:
        raise ArgumentTypeError(f"{raw!r} is no SHA-256: expected 64 hex digits")
    return digest


def _lines(result: AcksJson) -> Iterator[str]:
    for acked in result.acked:
        yield f"acked: {acked.note_path} {acked.gate_id}"
    for fresh in result.already_fresh:
        yield f"already fresh: {fresh.note_path} {fresh.gate_id}"
