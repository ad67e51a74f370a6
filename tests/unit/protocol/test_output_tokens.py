"""What each model wrote, in the shapes that harnesses tell it."""

from __future__ import annotations

import pytest

from review.protocol.telemetry import output_tokens_by_model


@pytest.mark.parametrize(
    ("telemetry", "tokens"),
    [
        pytest.param(None, {}, id="nothing"),
        pytest.param({"models": ["a"], "output_tokens": 9}, {}, id="not-by-model"),
        pytest.param(
            {"models_usage": {"a": {"output_tokens": 1}, "b": {"output_tokens": 99}}},
            {"b": 99, "a": 1},
            id="ours",
        ),
        pytest.param({"modelUsage": {"a": {"outputTokens": 5}}}, {"a": 5}, id="claude"),
        pytest.param(
            {
                "stats": {
                    "models": {
                        "wanted": {"api": {"totalErrors": 3}, "tokens": {"candidates": 0}},
                        "other": {"tokens": {"prompt": 7, "candidates": 80}},
                    }
                }
            },
            {"other": 80, "wanted": 0},
            id="gemini",
        ),
        pytest.param({"modelUsage": {"a": "much", "b": {"outputTokens": -1}}}, {}, id="broken"),
    ],
)
def test_are_read(telemetry, tokens):
    assert output_tokens_by_model(telemetry) == tokens
