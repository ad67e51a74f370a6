"""The options that say who reviewed: the harness, its model and its effort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from review.management.kit.options import word
from review.models import Provenance


def add_provenance_options(parser: CommandParser, *, required: bool) -> None:
    """Declare `--runner` and what may be known of its model."""
    parser.add_argument(
        "--runner", type=word, required=required, metavar="R", help="the harness that reviews"
    )
    parser.add_argument(
        "--runner-model",
        type=word,
        metavar="M",
        help="its model, which must make the job's partition; leave out when it is not exposed",
    )
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--runner-effort", type=word, metavar="E", help="its reasoning effort")
    effort.add_argument(
        "--effort-unknown",
        action="store_true",
        help="the model is known and the effort is not: compare the model only",
    )


def provenance_of(options: Mapping[str, Any]) -> Provenance:
    return Provenance(options["runner"], options["runner_model"], options["runner_effort"])
