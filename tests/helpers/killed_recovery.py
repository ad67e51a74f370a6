"""A `recover_review_jobs --action replace` for tests that kills itself, hard, at a named point."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime, timedelta


def main(point: str) -> None:
    """Replace every job that is running, as if days had gone by; die on the way."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    from review import private_files as folders
    from review.jobs.create import JobFactory
    from review.management.commands.recover_review_jobs import Command
    from review.models.jobs import ReviewJobQuerySet
    from review.recovery import recover as recovery

    place, name, number = {
        "after-the-old-job-failed": (ReviewJobQuerySet, "close", 1),
        "in-the-new-folder": (folders, "write_new", 1),
        "before-the-commit": (JobFactory, "_store", 1),
        "before-the-files-are-refreshed": (JobFactory, "create", 1),
        "after-the-first-job": (recovery, "rewrite_job_files", 1),
        "in-the-second-job": (ReviewJobQuerySet, "close", 2),
    }[point]
    setattr(place, name, _deadly(number, getattr(place, name)))
    Command().answer(
        ["commonplace", "recover_review_jobs", "--action", "replace"],
        now=datetime.now(UTC) + timedelta(days=2),
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
