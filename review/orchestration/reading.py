"""Reads reviews together with what their harness and their own output say of the model."""

from __future__ import annotations

from review.conf import Config
from review.contracts.reviews import RenderedJson
from review.corpus import Corpus
from review.models import ReviewJob
from review.orchestration.provenance import (
    partition_contradicts,
    telemetry_contradicts,
    telemetry_models,
)
from review.queries import history
from review.queries.history import HistoryRequest
from review.queries.review_details import Told


def read_reviews(corpus: Corpus, request: HistoryRequest, *, config: Config) -> RenderedJson:
    """The reviews asked for; raises as `review.queries.history.read_reviews` does."""

    def tell(job: ReviewJob) -> Told:
        claim = job.self_reported_model
        claimed = (claim,) if claim else ()
        return Told(
            telemetry_models=telemetry_models(job.telemetry),
            telemetry_contradicts=telemetry_contradicts(
                job.model_partition.name, job.telemetry, config=config
            ),
            claim_contradicts=partition_contradicts(
                job.model_partition.name, claimed, config=config
            ),
        )

    return history.read_reviews(corpus, request, config=config, tell=tell)
