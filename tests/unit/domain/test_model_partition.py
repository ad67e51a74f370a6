"""Many spellings of a model, one partition; odd names are refused at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.model_partition import (
    ModelNameRefused,
    build_model_partition,
    effort_part,
    model_part,
)

NAMES = (
    st.lists(
        st.sampled_from(
            [
                "a",
                "b@",
                "[1m]",
                "-20260115",
                "20260115",
                "20260115@high",
                "@",
                "/",
                " ",
                "2026-01-15",
            ]
        )
    ).map("".join)
    | st.text(alphabet="abK19.:_ -/@[]+\u65e5\u0130\u212a", max_size=24)
    | st.text(max_size=40)
)


def partition_or_none(model, effort=None, **aliases):
    try:
        return build_model_partition(model, effort, **aliases)
    except ModelNameRefused:
        return None


class TestBuildModelPartition:
    @pytest.mark.parametrize(
        ("model", "partition"),
        [
            pytest.param("claude-opus-4-6", "claude-opus-4-6", id="a-partition-maps-to-itself"),
            pytest.param(" Claude Opus 4.6 ", "claude-opus-4-6", id="case-blanks-dots"),
            pytest.param("openrouter/anthropic/claude-opus-4.6", "claude-opus-4-6", id="providers"),
            pytest.param("claude-opus-4-6[1m]", "claude-opus-4-6", id="context"),
            pytest.param("a[1m][x]", "a", id="two-contexts"),
            pytest.param("claude-opus-4-6-20260115", "claude-opus-4-6", id="date"),
            pytest.param("gpt-4o-2024-08-06", "gpt-4o", id="dashed-date"),
            pytest.param("claude-opus-4-6-20260115[1m]", "claude-opus-4-6", id="date-and-context"),
            pytest.param("claude-opus-4-6[1m]-20260115", "claude-opus-4-6", id="context-and-date"),
            pytest.param("claude-opus-4@20250101", "claude-opus-4", id="date-behind-an-at"),
            pytest.param("model-20261399", "model-20261399", id="digits-that-are-no-date"),
            pytest.param("qwen2.5:7b_q4", "qwen2-5-7b-q4", id="colon-and-underscore"),
            pytest.param("a--b -- c", "a-b-c", id="dashes-collapse"),
            pytest.param("command-r+", "command-r+", id="plus-tells-models-apart"),
            pytest.param("gpt-5-1-codex@max", "gpt-5-1-codex@max", id="with-effort"),
            pytest.param("rules", "rules", id="the-embedded-reviewer"),
        ],
    )
    def test_folds_spellings(self, model, partition):
        assert build_model_partition(model) == partition

    @pytest.mark.parametrize(
        "model",
        [
            "",
            "  ",
            "日本",
            "[1m]",
            "x [1m] y",
            "/",
            "a/",
            "-20260115",
            "20260115",
            "a/20260115",
            "@max",
            "a@",
            "a@b@c",
            "a(b)",
            "a\nb@",
            "\u212a",
            "x" * 300,
        ],
    )
    def test_refuses_what_leaves_no_stable_name(self, model):
        with pytest.raises(ModelNameRefused) as refused:
            build_model_partition(model)

        assert refused.value.message.isprintable()

    @pytest.mark.parametrize(
        ("effort", "partition"),
        [(None, "gpt-5"), ("high", "gpt-5@high"), (" X High ", "gpt-5@x-high")],
    )
    def test_appends_the_effort(self, effort, partition):
        assert build_model_partition("gpt-5", effort) == partition

    def test_the_effort_is_not_part_of_the_name(self):
        assert build_model_partition("gpt-5-1-codex", "max") != build_model_partition(
            "gpt-5-1-codex-max"
        )

    @pytest.mark.parametrize("effort", ["", " ", "a@b", "日"])
    def test_refuses_an_effort_that_is_no_word(self, effort):
        with pytest.raises(ModelNameRefused):
            build_model_partition("gpt-5", effort)

    def test_refuses_two_efforts_but_takes_the_same_twice(self):
        assert build_model_partition("gpt-5@high", "high") == "gpt-5@high"
        with pytest.raises(ModelNameRefused, match=r"'high'.*'low'"):
            build_model_partition("gpt-5@high", "low")

    def test_a_partition_fits_its_column(self):
        assert len(build_model_partition("x" * 150, "y" * 49)) == 200
        with pytest.raises(ModelNameRefused, match="longer"):
            build_model_partition("x" * 150, "y" * 50)

    @settings(deadline=None, max_examples=400)
    @given(NAMES, st.none() | st.sampled_from(["high", "X Low"]))
    def test_is_idempotent_or_refuses(self, model, effort):
        partition = partition_or_none(model, effort)

        if partition is not None:
            assert build_model_partition(partition) == partition
            assert build_model_partition(model_part(partition), effort_part(partition)) == partition
            assert partition.isascii()
            assert partition.strip() == partition != ""


class TestAliases:
    ALIASES = {"GPT 5.1 Codex": "codex", "gpt-5@low": "cheap", "opus": "claude@high"}

    @pytest.mark.parametrize(
        ("model", "effort", "partition"),
        [
            pytest.param("openai/gpt-5.1-codex", None, "codex", id="any-spelling-of-the-alias"),
            pytest.param("gpt-5.1-codex", "max", "codex@max", id="effort-is-kept"),
            pytest.param("gpt-5", "low", "cheap", id="alias-with-an-effort"),
            pytest.param("gpt-5", "high", "gpt-5@high", id="other-effort"),
            pytest.param("opus", None, "claude@high", id="alias-to-an-effort"),
            pytest.param("opus", "high", "claude@high", id="the-same-effort"),
            pytest.param("codex", None, "codex", id="a-declared-partition-maps-to-itself"),
            pytest.param("llama", None, "llama", id="not-declared"),
        ],
    )
    def test_map_names_to_the_declared_partition(self, model, effort, partition):
        assert build_model_partition(model, effort, aliases=self.ALIASES) == partition

    def test_refuse_an_effort_the_partition_excludes(self):
        with pytest.raises(ModelNameRefused):
            build_model_partition("opus", "low", aliases=self.ALIASES)

    def test_follow_a_chain_and_refuse_a_circle(self):
        assert build_model_partition("a", aliases={"a": "b", "b": "c"}) == "c"
        with pytest.raises(ModelNameRefused, match="circle"):
            build_model_partition("a", aliases={"a": "b", "b": "a"})

    @settings(deadline=None)
    @given(
        st.sampled_from("abc"),
        st.none() | st.just("high"),
        st.dictionaries(
            st.sampled_from(["a", "b", "c", "a@high"]),
            st.sampled_from(["a", "b", "c@high"]),
            max_size=3,
        ),
    )
    def test_stay_idempotent(self, model, effort, aliases):
        partition = partition_or_none(model, effort, aliases=aliases)

        if partition is not None:
            assert build_model_partition(partition, aliases=aliases) == partition
