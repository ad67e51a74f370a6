"""A worker process for tests: waits for a line, then claims jobs one by one until none is queued."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime


def main(actor: str) -> None:
    """Claim as `actor`; print the ids of what was claimed as a JSON list."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    from review import settings
    from review.jobs.claim import ClaimRequest, claim
    from review.models import Provenance

    request = ClaimRequest(actor=actor, provenance=Provenance("test"))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    taken: list[int] = []
    while True:
        result = claim(request, config=settings.current(), now=datetime.now(UTC))
        if not result.claimed:
            break
        taken += [job.review_job_id for job in result.jobs]
    sys.stdout.write(json.dumps(taken))


if __name__ == "__main__":
    main(sys.argv[1])
