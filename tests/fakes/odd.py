"""A fake command-line model without an account of its own, and with every bad habit of a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from answering import CASE, blocks, complain, output_path, read_prompt, say, write_output

LONG = 600


def linger(*, apart: bool) -> None:
    """Leave a child that holds stdout and stderr open; `apart`: in a session of its own."""
    subprocess.Popen(
        [sys.executable, "-c", f"import time; time.sleep({LONG})"], start_new_session=apart
    )


def half_a_block(prompt: str) -> None:
    """One whole block, half of the next, and no more."""
    text = blocks(prompt)
    say(text[: text.rindex("## Result")])
    time.sleep(LONG)


def ignore_everything(_prompt: str) -> None:
    """A process that no polite signal ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    linger(apart=True)
    while True:
        time.sleep(LONG)


def keep_grandchildren(prompt: str) -> None:
    """Done at once, with children that go on holding its streams."""
    linger(apart=False)
    linger(apart=True)
    say(blocks(prompt))


def hang_with_grandchildren(_prompt: str) -> None:
    """Never done, with children in the group and apart."""
    linger(apart=False)
    linger(apart=True)
    time.sleep(LONG)


def ten_megabytes(prompt: str) -> None:
    """A review among ten megabytes of talk, on both streams."""
    line = "thinking aloud, for a long while, about nothing in particular\n"
    complain(line * 20_000)
    say(blocks(prompt))
    for _ in range(100):
        say(line * 1_700)


def flood(_prompt: str) -> None:
    """More than anybody wants to keep."""
    while True:
        os.write(1, b"x" * 65_536)


def report(prompt: str) -> None:
    """Say how it was called, in a review."""
    facts = {
        "argv": sys.argv[1:], "cwd": str(Path.cwd()), "env": dict(os.environ),
        "prompt_bytes": len(prompt.encode()), "group": os.getpgid(0), "session": os.getsid(0),
        "files": sorted(str(path) for path in Path().rglob("*")), "parent": os.getppid(),
    }  # fmt: skip
    say(blocks(prompt) + json.dumps(facts))


def old_file(prompt: str) -> None:
    """Put a file in place that was written long ago, and say nothing else."""
    write_output(prompt)
    os.utime(output_path(prompt), (1, 1))
    say("Done.")


def pipe_as_file(prompt: str) -> None:
    """A pipe in the place of the file: whoever opens it waits."""
    os.mkfifo(output_path(prompt))


def link_as_file(prompt: str) -> None:
    """A link in the place of the file."""
    elsewhere = Path("elsewhere.md")
    elsewhere.write_text(blocks(prompt))
    output_path(prompt).symlink_to(elsewhere.resolve())


def json_line(prompt: str) -> None:
    """Events, one a line, with the answer in pieces."""
    whole = blocks(prompt)
    half = len(whole) // 2
    for line in (
        {"type": "step", "part": {"text": "looking"}},
        {"type": "text", "part": {"text": whole[:half]}},
        {"type": "text", "part": {"text": whole[half:]}},
        {"type": "done", "model": "some-model", "cost": 0.5, "tokens": {"in": 3, "out": 4}},
    ):
        say(json.dumps(line) + "\n")


def edit_note(_prompt: str) -> None:
    """Mend the one note in the folder."""
    for note in Path().rglob("*.md"):
        note.write_text(note.read_text().replace("teh", "the"))
    say("I mended the spelling.")


CASES = {
    "ok": lambda prompt: say(blocks(prompt)),
    "empty": lambda _prompt: None,
    "blank": lambda _prompt: say(" \n\n"),
    "apology": lambda _prompt: say("Sorry, I can't help with that.\n"),
    "error-as-answer": lambda _prompt: say("API Error: Rate limit reached\n"),
    "limit-as-answer": lambda _prompt: say("Claude AI usage limit reached|1764291600\n"),
    "quotes-an-error": lambda prompt: say(blocks(prompt, summary="API Error: 429 is explained.")),
    "invalid-utf8": lambda prompt: say(blocks(prompt).encode() + b"\xff\xfe\x80 tail\n"),
    "half-a-block": half_a_block,
    "ignores-signals": ignore_everything,
    "keeps-grandchildren": keep_grandchildren,
    "hangs-with-grandchildren": hang_with_grandchildren,
    "ten-megabytes": ten_megabytes,
    "flood": flood,
    "report": report,
    "wrote-file": write_output,
    "old-file": old_file,
    "blank-file": lambda prompt: output_path(prompt).write_text("  \n"),
    "pipe-as-file": pipe_as_file,
    "link-as-file": link_as_file,
    "claims-written": lambda _prompt: say("I have written the file."),
    "json": lambda prompt: say("noise\n" + json.dumps({"message": {"content": blocks(prompt)}, "ok": True})),
    "json-lines": json_line,
    "json-error": lambda _prompt: say(json.dumps({"error": {"message": "quota exceeded"}})),
    "hangs": lambda _prompt: time.sleep(LONG),
    "edit": edit_note,
    "edit-nothing": lambda _prompt: say("Nothing to mend."),
    "remove-note": lambda _prompt: [path.unlink() for path in Path().rglob("*.md")],
    "killed": lambda _prompt: os.kill(os.getpid(), signal.SIGKILL),
    "control-characters": lambda _prompt: (complain("\x1b[31mbad\x1b[0m\x07 \u202eflag\r\nsk-abcdefghijklmnopqrstu"), sys.exit(3)),
    "long-complaint": lambda _prompt: (complain("first word " + "blah " * 20_000 + "last word"), sys.exit(3)),
    "exit-without-a-word": lambda _prompt: sys.exit(3),
    "review-then-failure": lambda prompt: (say(blocks(prompt)), complain("it broke"), sys.exit(1)),
}  # fmt: skip


if __name__ == "__main__":
    CASES[CASE]("" if os.environ.get("FAKE_READS_NOTHING") else read_prompt())
