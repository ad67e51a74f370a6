"""The options that name a scope of gates and notes; the selector, acks and sweeps have them alike."""

from __future__ import annotations

from typing import Any

from review.management.kit.command import request_of
from review.selection.select import SelectionRequest
from review.vocabulary import REQUESTED, STALE


def selection_request(options: dict[str, Any], **more: Any) -> SelectionRequest:
    """Return the options' selection, in the partition that `--model` names unless `more` does."""
    mode = REQUESTED if options.get("repeat") else options.get("mode", STALE)
    more = {"model_partition": options["model"], "mode": mode} | more
    return request_of(SelectionRequest, options, **more)
