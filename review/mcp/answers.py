"""Runs the command of a call, and gives its document in a size that clients show whole."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from importlib import import_module
from typing import Any

import msgspec
from django.db import connections

from review import settings
from review.documents.paging import cursor_of
from review.knowledge_base import Corpus
from review.mcp.tools import Call

# 8,000 tokens; JSON has some three bytes each. Clients warn at 10,000 tokens and cut at 25,000.
MAX_BYTES = 24_000
_PROMPT_BYTES = 28_000
_SHORT_LISTS = ("orphans", "problems", "renames", "abandoned_jobs", "skipped", "deleted_notes")
_MOST = 20


def answer(call: Call, *, actor: str, after: str = "") -> tuple[dict[str, Any], bool]:
    """Run the command in this process; return its document, or its error, and whether it is one.

    :param actor: who calls, where the environment names nobody.
    :param after: where the text of a prompt goes on.
    """
    module = import_module(f"review.management.commands.{call.command}")
    out, err = io.StringIO(), io.StringIO()
    command = module.Command(stdout=out, stderr=err)
    takes_actor = call.command in ("next_review_job", "ingest_bundle_output", "dispose_finding")
    if takes_actor and not settings.current().actor:
        call = replace(call, words=(*call.words, f"--actor={actor}"))
    try:
        command.answer(
            ["commonplace", call.command, *call.words, "--json"], stdin=io.BytesIO(call.stdin)
        )
    finally:
        connections.close_all()
    if out.getvalue():
        document = json.loads(out.getvalue())
        if call.command == "resolve_gates":
            gates = Corpus(settings.current()).gates
            document["text"] = "\n".join(gate.text for gate in gates.resolve(call.words))
        return _cut(document, after), False
    return json.loads(err.getvalue().splitlines()[-1]), True


def _cut(document: dict[str, Any], after: str) -> dict[str, Any]:
    """Cut the document to a size that clients show whole; `next` says where it goes on."""
    for name in _SHORT_LISTS:
        if name in document:
            document[name] = document[name][:_MOST]
    match document["schema"].partition("/")[0]:
        case "review-target-selector":
            _cut_list(document, "targets")
        case "warn-selector":
            _cut_list(document, "entries")
        case "fix-prompt":
            start = int(after) if after.isdecimal() else 0
            end, text = start + MAX_BYTES, document["prompt"]
            document["prompt"] = text[start:end]
            document["next"] = str(end) if end < len(text) else None
        case "next-review-job":
            room = _PROMPT_BYTES
            for job in document["jobs"]:
                room -= len(job["prompt"].encode("utf-8", "replace"))
                job["prompt"] = job["prompt"] if room >= 0 else ""
    return document


def _cut_list(document: dict[str, Any], name: str) -> None:
    size, kept = 0, list[dict[str, Any]]()
    for item in document[name]:
        item.pop("rationale", None)  # the fix prompt has it, and the resource of the review
        size += len(msgspec.json.encode(item))
        if kept and size > MAX_BYTES:
            document["next"] = cursor_of((kept[-1]["note_path"], kept[-1]["gate_path"]))
            break
        kept.append(item)
    document[name] = kept
