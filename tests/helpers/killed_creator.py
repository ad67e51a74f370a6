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
    from review.artifacts import local_folder
    from review.management.commands.create_review_jobs import Command
    from review.orchestration import job_making, planning

    planning.JOBS_PER_TRANSACTION = 2
    if point == "in-a-folder":
        local_folder._write_new = _at_call(4, local_folder._write_new)
    elif point == "before-the-first-commit":
        job_making.JobMaker._store = _after_call(1, job_making.JobMaker._store)
    elif point == "before-the-second-commit":
        job_making.JobMaker._store = _after_call(2, job_making.JobMaker._store)
    Command().answer(
        ["commonplace", "create_review_jobs", "--input", selection, "--grouping", "note"]
    )


def _at_call(number, function):
    return _counting(number, function, before=True)


def _after_call(number, function):
    return _counting(number, function, before=False)


def _counting(number, function, *, before):
    calls = []

    def counted(*args, **kwargs):
        calls.append(None)
        if before and len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*args, **kwargs)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return counted


if __name__ == "__main__":
    main(*sys.argv[1:])
