"""Runs the command of a call, and gives its document in a size that clients show whole."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import msgspec
from django.db import connections

from review import settings
from review.documents.base import cursor_of
from review.knowledge_base import Corpus
from review.management.kit.arguments import ACTOR
from review.mcp.tools import Call

# 8,000 tokens; JSON has some three bytes each. Clients warn at 10,000 tokens and cut at 25,000.
MAX_BYTES = 24_000
_PROMPT_BYTES = 28_000
_SHORT_LISTS = {"orphans", "problems", "renames", "abandoned_jobs", "skipped", "deleted_notes"}
_MOST = 20
_TOOL_OF = {
    "next_review_job": "take_jobs",
    "ack_trivial_changes": "ack_trivial",
    "ingest_bundle_output": "submit_review",
    "warn_selector": "findings",
}


def answer(calls: Sequence[Call], *, actor: str, after: str = "") -> tuple[dict[str, Any], bool]:
    """Run the commands in this process; return their document, and whether it is an error.

    :param actor: who calls, where the environment names nobody.
    :param after: where the text of a prompt goes on.
    """
    if len(calls) == 1:
        return _run(calls[0], actor=actor, after=after)
    done: dict[str, Any] = {}
    refused = []
    for call in calls:
        document, is_error = _run(call, actor=actor, after=after)
        if is_error:
            refused.append(document | {"review_job_id": int(call.words[1])})
        elif done:
            done["jobs"] += document["jobs"]
        else:
            done = document
    if not done:
        return refused[0], True
    if refused:
        done["refused"] += refused
    return done, False


def _run(call: Call, *, actor: str, after: str) -> tuple[dict[str, Any], bool]:
    module = import_module(f"review.management.commands.{call.command}")
    out, err = io.StringIO(), io.StringIO()
    command = module.Command(stdout=out, stderr=err)
    if ACTOR.items() <= command.arguments.items() and not settings.current().actor:
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
    for name in _SHORT_LISTS & document.keys():
        document[name] = document[name][:_MOST]
    for name in {"targets", "entries"} & document.keys():
        _cut_list(document, name)
    for step in document.get("next_steps", ()):
        step["tool"] = _TOOL_OF.get(step["command"].split()[1])
    schema = document["schema"].partition("/")[0]
    if schema == "fix-prompt":
        _cut_text(document, start=int(after) if after.isdecimal() else 0)
    if schema == "next-review-job":
        for job in document["jobs"]:
            if len(job["prompt"].encode("utf-8", "replace")) > _PROMPT_BYTES:
                job["prompt"] = ""
    return document


def _cut_text(document: dict[str, Any], *, start: int) -> None:
    end, text = start + MAX_BYTES, document["prompt"]
    document["prompt"] = text[start:end]
    document["next"] = str(end) if end < len(text) else None


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
