"""A `create_review_jobs` for tests that kills itself, hard, at a point that is named."""

from __future__ import annotations

import os
import signal
import sys


def main(point: str, selection: str) -> None:
    """Create jobs of the file `selection`; die in a folder, or before the second commit."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    from review import job_files as folders
    from review.jobs import create as job_making
    from review.jobs import create as planning
    from review.management.commands.create_review_jobs import Command

    planning.JOBS_PER_TRANSACTION = 2
    place, name, number = {
        "in-a-folder": (folders, "write_new", 3),
        "before-the-first-commit": (job_making.JobFactory, "_store", 1),
        "before-the-second-commit": (job_making.JobFactory, "_store", 2),
    }[point]
    setattr(place, name, _deadly(number, getattr(place, name)))
    Command().answer(
        ["commonplace", "create_review_jobs", "--input", selection, "--grouping", "note"]
    )


def _deadly(number, function):
    """`function`, whose call of that number is done and then the last thing this process does."""
    calls = []

    def counted(*args, **kwargs):
        calls.append(None)
        result = function(*args, **kwargs)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return counted


if __name__ == "__main__":
    main(*sys.argv[1:])
