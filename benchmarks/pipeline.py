"""Times create, claim and ingest in one process, in stores of growing size; prints JSON.

    python benchmarks/pipeline.py ROOT --jobs 300

The store at ROOT is used as it is: call it for a nearly empty store and for a full one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PARTITION = "bench-pipeline"


def _targets(corpus: Any, jobs: int, per_job: int) -> list[dict[str, str]]:
    gates = [gate for gate in corpus.gates.gates if gate.lens == "prose"][:per_job]
    notes = corpus.notes().notes[:jobs]
    return [
        {"note_path": note.path, "gate_path": gate.path, "gate_id": gate.gate_id}
        for note in notes
        for gate in gates
    ]


def _output(job: Any, token: str) -> bytes:
    from review.protocol.sentinels import end_line, start_line

    lines = []
    for pair in job.pairs:
        names = (token, pair.ordinal, pair.note_path, pair.gate_id)
        lines += [
            start_line(*names),
            "### Summary\n\nOne claim goes further than its section.\n\n### Findings\n",
            "- WARN: The second sentence claims more than the section shows.",
            "\n## Result: WARN",
            end_line(*names),
        ]
    return "\n".join(lines).encode()


def measure(root: Path, jobs: int) -> dict[str, float]:
    """Jobs, claims and pairs a second."""
    from benchmarks.make_kb import set_up_django

    set_up_django(root)
    from review import conf

    config = conf.current()
    created, create_seconds = _create(config, jobs)
    claim_seconds = _claim(config, created)
    ingest_seconds = _ingest(config, root, created)
    return {
        "create_jobs_per_second": len(created) / create_seconds,
        "claims_per_second": len(created) / claim_seconds,
        "ingest_pairs_per_second": 3 * len(created) / ingest_seconds,
    }


def _create(config: Any, jobs: int) -> tuple[list[Any], float]:
    from review.management.knowledge_base import open_corpus
    from review.orchestration.planning import CreateRequest, create_jobs
    from review.vocabulary import Grouping

    with open_corpus(config) as corpus:
        document = {
            "schema": "review-target-selector/1",
            "mode": "stale",
            "model_partition": PARTITION,
            "targets": _targets(corpus, jobs, 3),
        }
    request = CreateRequest(
        selection=json.dumps(document).encode(),
        source="the benchmark",
        grouping=Grouping.NOTE,
        actor="agent:benchmark",
    )
    began = time.perf_counter()
    created = create_jobs(request, config=config, now=datetime.now(UTC))
    return list(created.jobs), time.perf_counter() - began


def _claim(config: Any, jobs: list[Any]) -> float:
    from review.models import Provenance
    from review.orchestration.claiming import ClaimRequest, claim

    began = time.perf_counter()
    for job in jobs:
        request = ClaimRequest(
            actor="agent:benchmark",
            provenance=Provenance(runner="benchmark"),
            job_id=job.review_job_id,
        )
        claim(request, config=config, now=datetime.now(UTC))
    return time.perf_counter() - began


def _ingest(config: Any, root: Path, jobs: list[Any]) -> float:
    from review.models import ReviewJob
    from review.orchestration.finalization import ingest_job
    from review.orchestration.ingest_request import IngestRequest

    tokens = dict(ReviewJob.objects.values_list("pk", "sentinel_token"))
    for job in jobs:
        output = _output(job, tokens[job.review_job_id])
        (root / job.bundle_output_path).write_bytes(output)
    request = IngestRequest(actor="agent:benchmark")
    began = time.perf_counter()
    for job in jobs:
        ingest_job(job.review_job_id, request=request, config=config, now=datetime.now(UTC))
    return time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--jobs", type=int, default=300)
    options = parser.parse_args()
    sys.stdout.write(json.dumps(measure(options.root.resolve(), options.jobs)) + "\n")
