"""Asks the selector, and reads its answer."""

from __future__ import annotations

from typing import Any

from tests.builders import PARTITION
from tests.helpers.commands import run


def select(*args: object, model: str | None = PARTITION) -> Any:
    """The selector's document for a partition, or for none."""
    partition = ("--model", model) if model else ()
    return run("review_target_selector", *args, *partition, "--json").json


def pairs(answer: Any) -> list[tuple[str, str]]:
    """Note path and gate id of each target."""
    return [(target["note_path"], target["gate_id"]) for target in answer["targets"]]


def reasons(answer: Any) -> dict[tuple[str, str], list[str]]:
    """The reasons of each target, by the note's file name and the gate id."""
    return {
        (target["note_path"].rpartition("/")[2], target["gate_id"]): target["reasons"]
        for target in answer["targets"]
    }
