"""Looks at a store and its files after a crash; called in a process of its own, by the zygote."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection, models

from review import conf
from review.management.commands.review_doctor import Command as Doctor
from review.models import JobOutput, ReviewJob, ReviewStore
from review.orchestration import doctoring
from review.queries.checks import Check, CheckState
from review.queries.invariants import broken_invariants

# They depend on the token, which is drawn; and a process has another number each time.
_LEFT_OUT = {
    "ReviewStore": {"store_id"},
    "ReviewJob": {"sentinel_token", "prompt_sha256", "parent_pid", "parent_started_at"},
    "JobOutput": {"content_sha256"},
}
_OWN_KEYS = (ReviewJob,)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?")
_PAIR_KEY = re.compile(r"(review_pair_id\"?: )\d+")
_ASIDE = re.compile(r"\.aside-\d+$")
_DRAFT = re.compile(r"^\..*\.tmp$")


def look(*, repair: bool = False) -> dict[str, Any]:
    """What the doctor says, what is broken, and the whole content in words that can be compared.

    :param repair: whether the doctor repairs before the rest is looked at.
    """
    config = conf.current()
    if config.uses_sqlite and not Path(config.database).exists():
        return {"exists": False, "doctor": [], "broken": [], "store": [], "files": {}, "left": []}
    seen = {
        "exists": True,
        "doctor": _doctor("--repair") if repair else _doctor(),
        "broken": _broken(),
        "store": sorted(_rows()),
        **_files(config.artifacts, config.root / "new"),
    }
    connection.close()
    return seen


def look_and_repair() -> tuple[dict[str, Any], list[str]]:
    """`look`, and what is still wrong after a repair."""
    seen = look()
    is_well = not (seen["doctor"] or seen["broken"])
    still = [] if is_well else [*_doctor("--repair"), *_broken()]
    connection.close()
    return seen, still


def accepted() -> list[str]:
    """The current acceptances, by note, gate and decision."""
    rows = apps.get_model("review", "CurrentAcceptance").objects.order_by(
        "note__path", "gate__path", "model_partition__name"
    )
    names = ("note__path", "gate__path", "model_partition__name", "decision")
    found = [" ".join(row) for row in rows.values_list(*names)]
    connection.close()
    return found


def _broken() -> list[str]:
    return [f"{item.name}: {item.detail}" for item in broken_invariants()]


def _doctor(*options: str) -> list[str]:
    """What the doctor finds, by state and name; "exit N" with N ≠ 0 stands first when there is any."""
    # It looks at the installation, which no crash of a command changes, and takes a while.
    doctoring.check_bytecode = lambda: Check("bytecode", CheckState.OK, "")
    out, err = io.StringIO(), io.StringIO()
    command = Doctor(stdout=out, stderr=err)
    code = command.answer(["commonplace", "review_doctor", "--json", *options])
    if not out.getvalue():
        return [f"exit {code}", err.getvalue()]
    checks = json.loads(out.getvalue())["checks"]
    found = [
        f"{check['state']} {check['name']}: {check['message']} {'; '.join(check['details'])}"
        for check in checks
        if check["state"] in ("problem", "skipped", "repairable")
    ]
    return [f"exit {code}", *found] if code else found


def _rows() -> Iterator[str]:
    """Every row of every table, by what its references mean instead of by their keys."""
    names = _Names()
    for model, rows in names.rows.items():
        for row in rows.values():
            yield f"{model.__name__}: {names.of(row)}"


class _Names:
    """What rows are called without their keys, the times and the tokens that differ by run."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Any], str] = {}
        self._words = _words_that_differ()
        self.rows: dict[type[models.Model], dict[Any, models.Model]] = {
            model: model._default_manager.in_bulk()
            for model in apps.get_app_config("review").get_models()
            if model._meta.managed
        }

    def of(self, row: models.Model) -> str:
        kind = type(row).__name__
        if (kind, row.pk) not in self._known:
            left_out = _LEFT_OUT.get(kind, set())
            told = [
                self._told(row, field)
                for field in row._meta.concrete_fields
                if field.name not in left_out and not self._is_mere_key(row, field)
            ]
            self._known[kind, row.pk] = f"({', '.join(told)})"
        return self._known[kind, row.pk]

    @staticmethod
    def _is_mere_key(row: models.Model, field: models.Field) -> bool:
        return field.primary_key and not field.is_relation and not isinstance(row, _OWN_KEYS)

    def _told(self, row: models.Model, field: models.Field) -> str:
        value = getattr(row, field.attname)
        if value is None:
            return f"{field.name}=-"
        if field.is_relation:
            other = field.related_model
            told = value if other in _OWN_KEYS else self.of(self.rows[other][value])
            return f"{field.name}={told}"
        if isinstance(value, datetime):
            return f"{field.name}=(time)"
        if isinstance(value, bytes | memoryview):
            value = bytes(value).decode("utf-8", "replace")
        return f"{field.name}={_in_common_words(str(value), self._words)!r}"


def _words_that_differ() -> dict[str, str]:
    tokens = ReviewJob.objects.values_list("sentinel_token", "pk", "prompt_sha256")
    words = {ReviewStore.objects.get(pk=1).store_id: "(store)"}
    for token, job_id, sha256 in tokens:
        words |= {token: f"(token {job_id})", sha256: f"(prompt {job_id})"}
    for sha256, job_id in JobOutput.objects.values_list("content_sha256", "job_id"):
        words[sha256] = f"(output of {job_id})"
    return words


def _in_common_words(text: str, words: dict[str, str]) -> str:
    for word, common in words.items():
        text = text.replace(word, common)
    return _TIME.sub("(time)", text)


def _files(*folders: Path) -> dict[str, Any]:
    """The files by path with a digest of their content; what was set aside stands apart."""
    words, files, left = _words_that_differ(), {}, []
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        name = path.relative_to(conf.current().root)
        if any(_ASIDE.search(part) or _DRAFT.search(part) for part in name.parts):
            left.append(name.as_posix())
        elif path.is_file():
            text = _in_common_words(path.read_text(errors="replace"), words)
            if connection.vendor == "postgresql":
                # What was rolled back there has used up its numbers.
                text = _PAIR_KEY.sub(r"\1(key)", text)
            files[name.as_posix()] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {"files": files, "left": left}
