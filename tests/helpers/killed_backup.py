"""A `review_doctor --backup` for tests that meets its end at a point that is named."""

from __future__ import annotations

import os
import resource
import signal
import sys

from tests.helpers.killed_creator import _deadly

POINTS = {
    "in-the-copy": "_let_signals_in",
    "before-the-check": "_copy",
    "before-it-has-its-name": "_verify",
    "with-its-name": "_name_new",
}


def main(end: str, target: str) -> int:
    """Back up to `target`; `end` is one of the `POINTS`, `interrupted` or `disk-full`."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    from review.management.commands.review_doctor import Command
    from review.store import backup_file

    if end == "interrupted":
        backup_file._let_signals_in = lambda *_args: signal.raise_signal(signal.SIGINT)
    elif end == "disk-full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    else:
        name = POINTS[end]
        setattr(backup_file, name, _deadly(1, getattr(backup_file, name)))
    try:
        return Command().answer(["commonplace", "review_doctor", "--backup", target])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
