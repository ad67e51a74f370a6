"""One process of a storm: acts at random, over the store and the files that all share, until the end."""

from __future__ import annotations

import argparse
import os
import random
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.races.base import GATES, RULE, gate_path, moved_path, note_path
from tests.races.books import Act, Book, moment
from tests.races.editing import Editor
from tests.races.running import Runner


def main() -> None:
    """Act until the time is over; what happened is in the book."""
    options = _options()
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    from tests.races.acts import Acts
    from tests.races.web_acts import WebActs

    rng = random.Random(f"{options.seed}/{options.number}")  # noqa: S311 - a seed repeats it
    book = Book(options.books / f"worker-{options.number}.jsonl")
    runner = Runner(options.number, rng)
    acts = Acts(options.root, runner, rng, notes=options.notes).every()
    acts.append((8, _editing(options, Editor(options.root, book, rng), rng)))
    if options.site:
        acts += WebActs(options.site, rng, notes=options.notes).every()
    weights = [weight for weight, _act in acts]
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        (chosen,) = rng.choices([act for _weight, act in acts], weights)
        book.write(_done(runner, chosen))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--books", type=Path, required=True)
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--of", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--notes", type=int, required=True)
    parser.add_argument("--site", default="")
    return parser.parse_args()


def _done(runner: Runner, chosen: Callable[[Act], None]) -> Act:
    act = runner.begin(chosen.__name__)
    act.began = moment()
    try:
        chosen(act)
    except Exception:  # noqa: BLE001 - whatever it is, the storm goes on and the test tells
        act.fault = traceback.format_exc()
    act.ended = moment()
    return act


def _editing(
    options: argparse.Namespace, editor: Editor, rng: random.Random
) -> Callable[[Act], None]:
    """Edits of this process's own notes; the first process edits the gates too."""
    own = range(options.number, options.notes, options.of)

    def edit(act: Act) -> None:
        if not own:
            return
        number = rng.choice(own)
        paths = [note_path(number), moved_path(number)]
        here = [path for path in paths if (options.root / path).exists()]
        if options.number == 0 and rng.random() < 0.1:
            gate_id = rng.choice([*GATES, RULE])
            rule = "placeholder-text" if gate_id == RULE else ""
            editor.edit_gate(gate_path(gate_id), gate_id, rule=rule)
        elif here and rng.random() < 0.2:
            (other,) = set(paths) - {here[0]} if len(here) == 1 else {f"{here[1]}.old"}
            editor.move(here[0], other)
        else:
            editor.edit_note(here[0] if here else paths[0], number)

    return edit


if __name__ == "__main__":
    main()
