"""A fake command-line model that does with each note what a script says, and keeps books of it.

FAKE_SCRIPT is JSON: note path (or "*") to what to do, one of CASES, or a list of them: one a call.
FAKE_BOOKS is a folder: it counts the calls for each note, and every block that was written whole.
FAKE_SECONDS is how long a block takes; FAKE_MODEL and FAKE_COST are what the account says.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

from answering import blocks, complain, read_prompt, say

LONG = 600
# A test that kills the parent must leave nothing for long.
signal.alarm(180)
BOOKS = Path(os.environ["FAKE_BOOKS"])
SECONDS = float(os.environ.get("FAKE_SECONDS", "0"))


def finished(prompt: str) -> None:
    """Write block after block, noting each when it is out; then the account."""
    for block in re.split(r"(?<====\n)\n", blocks(prompt, summary=f"Written by {os.getpid()}.")):
        if not block.strip():
            continue
        time.sleep(SECONDS)
        say(f"{block}\n")
        note(block)
    account()


def account() -> None:
    """The last line, as a runner with fields reads it."""
    if "FAKE_COST" in os.environ:
        complain(f"cost {os.environ['FAKE_COST']}\n")


def note(block: str) -> None:
    """Add a block to the books, in one write."""
    line = json.dumps(block.strip()) + "\n"
    descriptor = os.open(BOOKS / "blocks", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def half(prompt: str) -> None:
    """The first block, and then nothing for long."""
    first = re.split(r"(?<====\n)\n", blocks(prompt))[0]
    say(f"{first}\n")
    note(first)
    time.sleep(LONG)


def priced(prompt: str) -> None:
    """One JSON object, with what it cost and which model it was."""
    text = blocks(prompt)
    time.sleep(SECONDS)
    document: dict[str, object] = {"answer": text}
    if "FAKE_COST" in os.environ:
        document["cost"] = float(os.environ["FAKE_COST"])
        document["tokens"] = {"in": 1000, "out": 100}
    if "FAKE_MODEL" in os.environ:
        document["model"] = os.environ["FAKE_MODEL"]
    say(json.dumps(document))


def fail(message: str, code: int = 1) -> None:
    """Give up with a message."""
    complain(f"{message}\n")
    sys.exit(code)


def hold(prompt: str) -> None:
    """Wait until the test lets go, then answer."""
    _wait()
    finished(prompt)


def _wait() -> None:
    while not (BOOKS / "go").exists():
        time.sleep(0.02)


def mend(prompt: str) -> None:
    """Edit the note that the prompt is about, and claim more than that."""
    path = _note_of(prompt)
    path.write_text(path.read_text().replace("text of note", "text, mended, of note"))
    Path("kb/notes/another.md").write_text("not asked for")
    fingerprints = re.findall(r"^## ([0-9a-f]{16}): ", prompt, re.MULTILINE)
    say("".join(f"{name}: fixed: it is mended\n" for name in fingerprints))


CASES = {
    "mend": mend,
    "slow-mend": lambda prompt: (_wait(), mend(prompt)),
    "spoil": lambda prompt: _note_of(prompt).write_bytes(b"\xff\xfe"),
    "leave": lambda _prompt: say("Nothing to mend."),
    "finished": finished,
    "priced": priced,
    "half": half,
    "hold": hold,
    "hang": lambda _prompt: time.sleep(LONG),
    "empty": lambda _prompt: None,
    "overloaded": lambda _prompt: fail("API Error: 529 overloaded"),
    "limit": lambda _prompt: fail("You've hit your limit · resets 1pm (Europe/Lisbon)"),
    "bad-flag": lambda _prompt: fail("error: unknown option '--model'"),
    "broken": lambda _prompt: fail("it broke", 3),
    "cut-off": lambda prompt: say(blocks(prompt).split("=== PAIR REVIEW END")[0]),
    "labelled": lambda prompt: say(blocks(prompt).replace("=== PAIR", "Block: === PAIR")),
    "first-only": lambda prompt: say(re.split(r"(?<====\n)\n", blocks(prompt))[0]),
}


def _note_of(prompt: str) -> Path:
    return Path(re.search(r"You edit one note of a knowledge base: `([^`]+)`", prompt)[1])


def main() -> None:
    """Do what the script says for the first note of the prompt."""
    prompt = read_prompt()
    asked = re.search(r"^[0-9a-f]{8}/1: (.+) :: ", prompt, re.MULTILINE)
    path = asked[1] if asked else str(_note_of(prompt))
    calls = BOOKS / f"calls-{path.replace('/', '__')}"
    with calls.open("a") as stream:
        stream.write(f"{os.getpid()}\n")
    number = len(calls.read_text().splitlines())
    script = json.loads(os.environ.get("FAKE_SCRIPT", "{}"))
    usual = "priced" if "--priced" in sys.argv else "finished"
    what = script.get(path, script.get("*", usual))
    if isinstance(what, list):
        what = what[min(number, len(what)) - 1]
    CASES[what](prompt)


if __name__ == "__main__":
    main()
