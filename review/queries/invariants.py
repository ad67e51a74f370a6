"""What must hold in every store, whoever wrote it, asked of the database in SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from django.db import connections

from review.queries.invariant_rules import WORDS, Rule
from review.queries.invariants_acceptances import ACCEPTANCE_RULES
from review.queries.invariants_jobs import JOB_RULES
from review.queries.invariants_pairs import PAIR_RULES
from review.queries.invariants_store import STORE_RULES, counters_behind
from review.queries.invariants_texts import altered_outputs, altered_snapshots

_SHOWN = 5
_ROWS_AT_ONCE = 500
# Gives a line for each row that breaks an invariant, in the database of an alias.
_Asking: TypeAlias = Callable[[str], Iterator[str]]

RULES: tuple[Rule, ...] = (*STORE_RULES, *JOB_RULES, *PAIR_RULES, *ACCEPTANCE_RULES)
# What one statement cannot say, by name.
_COUNTERS: dict[str, _Asking] = {
    "id-counters-are-ahead-of-the-rows": counters_behind,
}
_HASHES: dict[str, _Asking] = {
    "snapshots-have-their-digests": altered_snapshots,
    "raw-outputs-have-their-digests": altered_outputs,
}


@dataclass(frozen=True)
class Broken:
    """An invariant that does not hold: its stable name, the first rows concerned, and how many."""

    name: str
    detail: str
    count: int


def broken_invariants(*, using: str = "default", hashes: bool = True) -> tuple[Broken, ...]:
    """Every invariant that does not hold, in the order of the rules; none in a sound store.

    It reads and never writes. One statement sees one moment; call it while nobody writes, or in a
    transaction that reads a snapshot, where the moments of all of them must be the same.

    :param using: the alias of the database.
    :param hashes: whether every kept text is hashed again; it reads them all, in pieces.
    """
    found = [_ask(rule, using) for rule in RULES]
    found += [_count(name, ask(using)) for name, ask in _others(hashes).items()]
    return tuple(item for item in found if item is not None)


def invariant_names(*, hashes: bool = True) -> tuple[str, ...]:
    """The names of what `broken_invariants` asks, in its order."""
    return (*(rule.name for rule in RULES), *_others(hashes))


def _others(hashes: bool) -> dict[str, _Asking]:
    return _COUNTERS | _HASHES if hashes else _COUNTERS


def _ask(rule: Rule, using: str) -> Broken | None:
    def details() -> Iterator[str]:
        with connections[using].cursor() as cursor:
            cursor.execute(rule.sql, WORDS)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from (detail for _key, detail in rows)

    return _count(rule.name, details())


def _count(name: str, details: Iterator[str]) -> Broken | None:
    shown: list[str] = []
    count = 0
    for detail in details:
        count += 1
        if count <= _SHOWN:
            shown.append(detail)
    return Broken(name, "; ".join(shown), count) if count else None
