"""A `review_doctor --backup` for tests that meets its end at a point that is named."""

from __future__ import annotations

import os
import resource
import signal
import sys

from tests.helpers.killed_creator import _deadly

# The function after whose call the process is killed, and the number of the call.
POINTS = {
    "in-the-copy": ("_let_signals_in", 1),
    "before-the-check": ("_copy", 1),
    "before-it-has-its-name": ("_check", 1),
    "with-its-name": ("_sync", 2),
}


def main(end: str, target: str, *options: str) -> int:
    """Back up to `target`; `end` is one of the `POINTS`, `interrupted` or `disk-full`."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    from review.management.commands.review_doctor import Command
    from review.store import backup

    if end == "interrupted":
        backup._let_signals_in = lambda *_args: signal.raise_signal(signal.SIGINT)
    elif end == "disk-full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    else:
        name, number = POINTS[end]
        setattr(backup, name, _deadly(number, getattr(backup, name)))
    try:
        return Command().answer(["commonplace", "review_doctor", "--backup", target, *options])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
