"""Record what was decided about a finding: fixed (it opens again when a review reports it again),
rejected (for good), deferred (until the note changes), or open.

    commonplace dispose_finding 3f2a9c1b7d5e8046 --as rejected --reason 'a setting needs no source'
    commonplace dispose_finding - --actor agent:claude-code < answer.txt
"""

from __future__ import annotations

from review.management.kit import ACTOR, ExitCode, Option, Options, ReviewCommand, refuse
from review.management.kit.output import one_line
from review.protocol.fix_answers import FORM, FixAnswer, read_fix_answers
from review.protocol.output import decode_output
from review.queue.triage import DisposedAllJson, DisposedJson, dispose_each
from review.vocabulary import DispositionState


class Command(ReviewCommand):
    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown fingerprint, or a line that is no answer"}
    arguments = {
        "fingerprint FINGERPRINT": f"as warn_selector shows it; - reads many from standard input,"
        f" one line each: {FORM}",
        "--as": Option(
            "what becomes of it; not with -, whose lines say it",
            DispositionState.values,
            dest="state",
        ),
        "--reason R": "why",
        **ACTOR,
    }

    def run(self, options: Options) -> None:
        name, state = options["fingerprint"], options["state"]
        refuse({"give a fingerprint with --as, or - without it": (name == "-") == bool(state)})
        if state:
            mark, reason = name.strip().lower(), options["reason"] or ""
            answers = [FixAnswer(mark, DispositionState(state), reason)]
        else:
            answers = read_fix_answers(decode_output(self.read_input("-")), source="standard input")
        done = dispose_each(answers, actor=options["actor"], corpus=self.corpus, now=self.now)
        self.show(done[0] if state else DisposedAllJson(findings=done), map(_line, done))


def _line(result: DisposedJson) -> str:
    was = f" (was {result.was})" if result.was else ""
    what = f"{result.disposition}{was}: {result.note_path} {result.gate_id}"
    return f"{what}: {one_line(result.text)}"
