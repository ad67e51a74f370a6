"""Measure the reader of decisions on labelled reviews.

    python -m benchmarks.decisions REVIEWS.jsonl

Each line of the file is an object with `id`, `text` and `reader_says`: the decision that a careful
reader takes from the text, `unknown` where none is stated. Exits 1 if a decision was read wrong,
if one was read where none is stated, or if a review is not read by an appended result line.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from review.protocol.decision import read_decision
from review.vocabulary import Decision


def main(path: str) -> int:
    """Print the figures, and the reviews that were read otherwise than labelled."""
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    started = time.process_time()
    read = [read_decision(row["text"]).decision for row in rows]
    seconds = time.process_time() - started
    counts: Counter[str] = Counter()
    for row, decision in zip(rows, read, strict=True):
        said = row["reader_says"]
        counts["stated"] += said != Decision.UNKNOWN
        counts["read"] += said == decision != Decision.UNKNOWN
        if decision not in (Decision.UNKNOWN, said):
            counts["wrong" if said != Decision.UNKNOWN else "invented"] += 1
            print(f"review {row['id']}: labelled {said}, read as {decision}")
        wanted = said if said != Decision.UNKNOWN else Decision.WARN
        lined = f"{row['text'].rstrip()}\n\n## Result: {wanted.upper()}\n"
        counts["by result line"] += read_decision(lined).decision == wanted
    share = counts["read"] / counts["stated"]
    print(f"{len(rows)} reviews, {counts['stated']} state a decision")
    print(
        f"read: {counts['read']} ({share:.1%}); wrong: {counts['wrong']}; invented: {counts['invented']}"
    )
    print(f"with the result line appended: {counts['by result line']} of {len(rows)} read")
    print(f"{seconds / len(rows) * 1e6:.0f} microseconds a review")
    failed = counts["wrong"] or counts["invented"] or counts["by result line"] < len(rows)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
