"""A `review_doctor` for tests that is asked to end at a point that is named, by a real signal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

# Where it signals itself: what is called there, and the call after which it does.
POINTS = {
    "among-invariants": ("review.upkeep.checks", "Invariant.lines", 7),
    "among-hashes": ("review.upkeep.checks", "sha256_hex", 5),
    "among-files-of-jobs": ("review.upkeep.job_files", "_wrong_files", 3),
    "among-events": ("review.models.reviews", "CurrentAcceptanceQuerySet.point_at", 1),
    "in-a-file": ("review.private_files", "write_new", 2),
    "among-repairs": ("review.upkeep.job_files", "rewrite_job_files", 2),
    "before-removals": ("review.models.jobs", "JobEvent.objects.record", 1),
    "among-removals": ("review.job_files", "LocalFolder.remove_folder", 2),
}
# Where it is signalled by who started it: a statement that takes for ever.
IN_A_STATEMENT = "in-a-statement"


def main(point: str, name: str, *arguments: str) -> None:
    """Examine as the command line does.

    :param name: of the signal; for `in-a-statement`, a file to make when it is about to begin.
    """
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    if point == IN_A_STATEMENT:
        _ask_for_ever(Path(name))
    else:
        _signal_at(point, signal.Signals[name])
    from commonplace_site import console

    sys.argv = ["commonplace", "review_doctor", *arguments]
    console.main()


def _signal_at(point: str, number: signal.Signals) -> None:
    module, name, call = POINTS[point]
    place = __import__(module, fromlist=["_"])
    *holders, name = name.split(".")
    for holder in holders:
        place = getattr(place, holder)
    function, calls = getattr(place, name), []

    def counted(*args, **kwargs):
        calls.append(None)
        result = function(*args, **kwargs)
        if len(calls) == call:
            os.kill(os.getpid(), number)
        return result

    setattr(place, name, counted)


def _ask_for_ever(begun: Path) -> None:
    from review.upkeep import checks

    checks.all_invariants = lambda: {"for-ever": lambda: _count_for_ever(begun)}


def _count_for_ever(begun: Path) -> Iterator[str]:
    from django.db import connection

    with connection.cursor() as cursor:
        begun.touch()
        cursor.execute(
            "WITH RECURSIVE number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number)"
            " SELECT value FROM number WHERE value < 1"
        )
        yield from map(str, cursor.fetchall())


if __name__ == "__main__":
    main(*sys.argv[1:])
