"""Everything that a store and its files hold, in words that two runs can be compared by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import models

from review.models import CurrentAcceptance, FindingState

# It counts transactions, and says nothing of what they did.
_LEFT_OUT = {"acceptance_revision"}
# Rows that are derived are made again in any order.
_ORDERS: dict[type[models.Model], tuple[str, ...]] = {
    CurrentAcceptance: ("model_partition_id", "note_id", "gate_id"),
    FindingState: ("event_id", "ordinal"),
}


def stored_rows() -> dict[str, list[dict[str, Any]]]:
    """The rows of each table in the order they were added; a key is the place of its row."""
    kinds = [kind for kind in apps.get_app_config("review").get_models() if kind._meta.managed]
    tables = {
        kind: list(kind._default_manager.order_by(*_ORDERS.get(kind, ("pk",)))) for kind in kinds
    }
    places = {
        (kind, row.pk): place for kind, rows in tables.items() for place, row in enumerate(rows)
    }
    return {kind.__name__: [_told(row, places) for row in rows] for kind, rows in tables.items()}


def _told(row: models.Model, places: dict[Any, int]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        if field.is_relation and value is not None:
            value = places[field.related_model, value]
        elif field.primary_key:
            value = places[type(row), value]
        if field.name not in _LEFT_OUT:
            told[field.name] = bytes(value) if isinstance(value, memoryview) else value
    return told


def files_below(folder: Path) -> dict[str, bytes]:
    """The files below a folder by their path."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
