"""The tables of a store as a copy takes them: from the models, parents before children."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.apps import apps
from django.db import models

from review.models import CurrentAcceptance, FindingState, ReviewJob, ReviewPair, ReviewStore
from review.store.raw_rows import Column, Kind, Table

# Every other table only grows: what was added is never changed and never removed.
_CHANGING: tuple[type[models.Model], ...] = (
    ReviewJob,
    ReviewPair,
    CurrentAcceptance,
    FindingState,
)
_DERIVED: tuple[type[models.Model], ...] = (CurrentAcceptance, FindingState)
_KINDS: tuple[tuple[type[models.Field[Any, Any]], Kind], ...] = (
    (models.DateTimeField, Kind.MOMENT),
    (models.JSONField, Kind.JSON),
    (models.BinaryField, Kind.BYTES),
    (models.IntegerField, Kind.INTEGER),
    (models.CharField, Kind.TEXT),
    (models.TextField, Kind.TEXT),
)
_LARGEST = {"PositiveIntegerField": 2**31 - 1}


class NoSuchKind(TypeError):
    """A model has a field of a type that no copy was taught."""


@cache
def copied_tables() -> tuple[Table, ...]:
    """Every table but the row of the store itself; no row refers to a later table's."""
    waiting = [
        model for model in apps.get_app_config("review").get_models() if model is not ReviewStore
    ]
    waiting.sort(key=lambda model: model._meta.db_table)
    ordered: list[type[models.Model]] = []
    while waiting:
        ready = [model for model in waiting if not _parents(model) & set(waiting) - {model}]
        ordered += ready
        waiting = [model for model in waiting if model not in ready]
    return tuple(_table(model) for model in ordered)


@cache
def store_table() -> Table:
    """The table of the one row that says which store this is."""
    return _table(ReviewStore)


def _parents(model: type[models.Model]) -> set[type[models.Model]]:
    fields = model._meta.concrete_fields
    return {field.related_model for field in fields if isinstance(field, models.ForeignKey)}


def _table(model: type[models.Model]) -> Table:
    fields = sorted(model._meta.concrete_fields, key=lambda field: not field.primary_key)
    return Table(
        name=model._meta.db_table,
        columns=tuple(_column(field) for field in fields),
        grows_only=model not in _CHANGING,
        derived=model in _DERIVED,
        counts=isinstance(fields[0], models.AutoField),
    )


def _column(field: models.Field[Any, Any]) -> Column:
    stored = field
    while isinstance(stored, models.ForeignKey):
        stored = stored.target_field
    for kind, ours in _KINDS:
        if isinstance(stored, kind):
            limit = stored.max_length or _LARGEST.get(stored.get_internal_type())
            return Column(str(field.column), ours, limit)
    raise NoSuchKind(f"{field} is a {type(stored).__name__}")
