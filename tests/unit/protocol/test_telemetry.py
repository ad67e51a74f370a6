"""What a harness says a run cost is read in the shapes there are; what is not said is unknown."""

from __future__ import annotations

import pytest

from review.protocol.telemetry import Usage, kept_telemetry, merge_runs, read_usage

CLAUDE = {
    "type": "result",
    "total_cost_usd": 0.42,
    "duration_ms": 1500,
    "usage": {"input_tokens": 0, "output_tokens": 0},
    "modelUsage": {
        "claude-opus-4-6": {"inputTokens": 100, "outputTokens": 20, "cacheReadInputTokens": 7},
        "claude-haiku-4-5": {"inputTokens": 3, "outputTokens": 1},
    },
}
CODEX = {"usage": {"input_tokens": 90, "cached_input_tokens": 8, "output_tokens": 9}}
OURS = {"cost_usd": 0.5, "input_tokens": 10, "output_tokens": 2, "duration_seconds": 3.25}


class TestUsage:
    @pytest.mark.parametrize(
        ("telemetry", "usage"),
        [
            pytest.param(None, Usage(), id="none"),
            pytest.param({}, Usage(), id="empty"),
            pytest.param(
                OURS, Usage(cost_usd=0.5, input_tokens=10, output_tokens=2, seconds=3.25), id="ours"
            ),
            pytest.param(
                CLAUDE,
                Usage(
                    cost_usd=0.42,
                    input_tokens=103,
                    output_tokens=21,
                    cached_input_tokens=7,
                    seconds=1.5,
                ),
                id="models-before-the-summary",
            ),
            pytest.param(
                CODEX,
                Usage(input_tokens=90, output_tokens=9, cached_input_tokens=8),
                id="no-cost-is-unknown",
            ),
        ],
    )
    def test_is_read_in_the_shapes_that_harnesses_write(self, telemetry, usage):
        assert read_usage(telemetry) == usage

    @pytest.mark.parametrize(
        "value",
        [None, True, "0.5", [], {}, -1, float("nan"), float("inf"), 10**400],
        ids=["null", "true", "text", "list", "object", "negative", "nan", "infinite", "huge"],
    )
    def test_is_unknown_where_the_value_is_no_number(self, value):
        assert read_usage({"cost_usd": value, "input_tokens": value}) == Usage()

    def test_zero_that_is_said_is_zero(self):
        assert read_usage({"cost_usd": 0}).cost_usd == 0.0


class TestKept:
    @pytest.mark.parametrize("value", [float("nan"), float("-inf"), 2**63, -(2**63)])
    def test_a_number_that_no_column_holds_is_kept_as_null(self, value):
        assert kept_telemetry({"cost": [value, 2**63 - 1]}) == {"cost": [None, 2**63 - 1]}


class TestSeveralRuns:
    def test_one_run_is_kept_as_it_is(self):
        assert merge_runs([OURS]) == OURS

    def test_no_telemetry_at_all_is_none(self):
        assert merge_runs([None, None]) is None
        assert merge_runs([]) is None

    def test_what_is_known_is_summed_and_the_rest_is_as_last_said(self):
        merged = merge_runs(
            [OURS | {"session_id": "a", "models": ["x"]}, OURS | {"session_id": "b"}]
        )

        assert merged == {
            "cost_usd": 1.0,
            "input_tokens": 20,
            "output_tokens": 4,
            "duration_seconds": 6.5,
            "session_id": "b",
            "models": ["x"],
            "runs": 2,
        }

    def test_a_run_without_a_cost_is_counted_so_that_the_sum_is_not_taken_for_the_whole(self):
        merged = merge_runs([OURS, {"duration_seconds": 1}, None])

        assert merged["runs_without_cost"] == 2
        usage = read_usage(merged)
        assert (usage.cost_usd, usage.whole) == (0.5, False)

    def test_no_run_with_a_cost_leaves_it_unknown(self):
        merged = merge_runs([{"duration_seconds": 1}, {"duration_seconds": 2}])

        assert read_usage(merged).cost_usd is None
        assert merged["duration_seconds"] == 3
