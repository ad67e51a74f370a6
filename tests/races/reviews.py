"""Reviews that say which pair they are of: what is stored can be told from what was written."""

from __future__ import annotations

import random

PASS = "### Summary\n{mark}\n\n### Findings\n\n## Result: PASS"
WARN = (
    "### Summary\n{mark}\n\n### Findings\n- WARN: point {point} is bare\n"
    "  > by its title, in turn\n\n## Result: WARN"
)
FAIL = "### Summary\n{mark}\n\n### Findings\n- FAIL: point {point} is wrong\n\n## Result: FAIL"
UNDECIDED = "### Summary\n{mark}\nI cannot say.\n"
SHAPES = (PASS, PASS, WARN, WARN, FAIL, UNDECIDED)


def mark_of(pair_id: int) -> str:
    """The words that stand in no other pair's review."""
    return f"This is the review of pair {pair_id}, and of no other."


def review_of(pair_id: int) -> str:
    """The one review that a pair ever gets, whoever writes it."""
    rng = random.Random(pair_id)  # noqa: S311 - the same for each pair
    return rng.choice(SHAPES).format(mark=mark_of(pair_id), point=rng.randrange(5))


def output_of(job_id: int, *, only_some: bool) -> bytes:
    """A worker's output for the job, as it is read; with one block too few where `only_some`."""
    from review.models import ReviewJob, ReviewPair
    from review.protocol.sentinels import end_line, start_line
    from tests.builders import gate_id_of_path

    token = ReviewJob.objects.values_list("sentinel_token", flat=True).get(pk=job_id)
    pairs = list(ReviewPair.objects.filter(job_id=job_id).select_related("note", "gate"))
    pairs.sort(key=lambda pair: pair.ordinal)
    if only_some and len(pairs) > 1:
        del pairs[job_id % len(pairs)]
    blocks = []
    for pair in pairs:
        names = (token, pair.ordinal, pair.note.path, gate_id_of_path(pair.gate.path))
        blocks.append(f"{start_line(*names)}\n{review_of(pair.pk)}\n{end_line(*names)}\n")
    return "\n".join(blocks).encode()
