"""The name of a model that a runner is told: as it was typed, or as it was set."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from review.errors import UsageRefused
from review.settings import Config
from review.settings.file import Partition, RunnerSettings
from review.sweeps.executors import WorkerRequest, resolve_runner

RUNNER = RunnerSettings("other", like="llm", model="deepseek/deepseek-r1:free")


def told(typed, *, runner="gemini", partitions=None, model=None):
    """The model and effort that the runner is told for what was typed."""
    config = Config(
        root=Path("/base"),
        database="store.sqlite",
        artifacts=Path("/base/artifacts"),
        actor="human:test",
        partitions=partitions or {},
        runners={"other": RUNNER},
    )
    request = WorkerRequest(runner, typed, timedelta(minutes=1), model=model)
    _spec, provenance = resolve_runner(request, config=config)
    return provenance.runner_model, provenance.runner_effort


@pytest.mark.parametrize(
    ("runner", "typed", "model", "effort"),
    [
        pytest.param("gemini", "gemini-2.5-pro", "gemini-2.5-pro", None, id="dots"),
        pytest.param(
            "llm", "deepseek/deepseek-r1:free", "deepseek/deepseek-r1:free", None, id="provider"
        ),
        pytest.param("codex", "gpt-5.1-codex@high", "gpt-5.1-codex", "high", id="effort"),
        pytest.param("llm", "claude-opus-4@20250514", "claude-opus-4@20250514", None, id="date"),
        pytest.param("llm", "Llama3.1:8b", "Llama3.1:8b", None, id="case"),
        pytest.param("gemini", "gemini-2-5-pro", "gemini-2-5-pro", None, id="a-partition"),
        pytest.param("other", "deepseek-r1-free", "deepseek/deepseek-r1:free", None, id="set"),
        pytest.param("other", "deepseek-v3", "deepseek-v3", None, id="set-for-another"),
    ],
)
def test_is_the_one_that_was_typed_or_set(runner, typed, model, effort):
    assert told(typed, runner=runner) == (model, effort)


def test_is_the_alias_that_was_typed():
    partitions = {"big": Partition("big", aliases=("gemini-2.5-pro", "gemini-3-pro"))}

    assert told("gemini-2.5-pro", partitions=partitions) == ("gemini-2.5-pro", None)


def test_is_the_spelling_that_was_declared():
    partitions = {"gemini-2-5-pro": Partition("gemini-2-5-pro", aliases=("gemini-2.5-pro",))}

    assert told("gemini-2-5-pro", partitions=partitions) == ("gemini-2.5-pro", None)


def test_is_asked_for_where_a_partition_stands_for_several():
    partitions = {"big": Partition("big", aliases=("gemini-2.5-pro", "gemini-3-pro"))}

    with pytest.raises(UsageRefused, match="several models"):
        told("big", partitions=partitions)
