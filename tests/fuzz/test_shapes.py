"""Documents of the right shape with anything in them: deeper than what bytes alone come to."""

from __future__ import annotations

import json
import os

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzz.rules import PAIRS, block
from tests.fuzz.targets import TARGETS

NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**400, -(10**19), 1e308, -0.0, 2**63, 2**64])
)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["\0", "\ud800", "\udc00\ud83d", "\x1b[31m", "a\nb", "../x", "/x", "", " ", "NaN"]),
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
COSTS = st.sampled_from(
    [
        "cost_usd", "total_cost_usd", "input_tokens", "inputTokens", "output_tokens", "outputTokens",
        "cached_input_tokens", "cache_read_input_tokens", "duration_seconds", "duration_ms", "turns",
        "usage", "modelUsage", "models", "model", "runs_without_cost", "num_turns", "costUSD", "runs",
    ]
)  # fmt: skip
TELEMETRY = st.dictionaries(
    COSTS | TEXTS, VALUES | st.dictionaries(COSTS, VALUES, max_size=4), max_size=6
)
NOTE, GATE = "kb/notes/a.md", "kb/instructions/review-gates/prose/x.md"
PATHS = st.one_of(
    st.sampled_from([NOTE, GATE, "kb/notes/.x.md", "kb/reports/x.md", "kb/notes/../../x.md", "//x.md"]),
    st.lists(st.sampled_from([*"ab./\\:é\n\0\u202e", "..", "kb/", "notes/", ".md"]), max_size=8)
    .map("".join),
    VALUES,
)  # fmt: skip
TARGET = st.fixed_dictionaries(
    {"note_path": PATHS, "gate_path": PATHS | st.just(GATE), "gate_id": PATHS | st.just("prose/x")},
    optional={"note_sha256": VALUES, "gate_sha256": VALUES, "reason": VALUES, "reasons": VALUES},
)
SELECTION = st.fixed_dictionaries(
    {
        "schema": st.just("review-target-selector/1") | VALUES,
        "model_partition": st.sampled_from(["m", "M", "a/b", "m@max", "", None]) | VALUES,
        "targets": st.lists(TARGET, max_size=3) | VALUES,
    }
)
KEYS = st.sampled_from(
    ["title", "type", "traits", "status", "name", "gate_id", "watches", "staleness", "rule",
     "requires_type", "requires_trait", "description", "&a", "*a", "<<", "? x", "!!int x"]
)  # fmt: skip
SCALARS = st.one_of(
    TEXTS,
    st.sampled_from(
        ["[a, b]", "{a: b}", "*a", "&a x", "|\n  x", ">-\n  y", "rewrite(0.2)", "rewrite(1e9)", "'", '"',
         "rewrite(nan)", "rewrite(-1)", "[title, body]", "[[a]]", "!!binary x", "2024-01-01", "0x1F", "- x"]
    ),
)  # fmt: skip
YAML = st.lists(st.tuples(KEYS, SCALARS), max_size=6).map(
    lambda pairs: "---\n" + "".join(f"{key}: {value}\n" for key, value in pairs) + "---\nText.\n"
)
LINES = st.sampled_from(
    [
        "", "Text.", "### Findings", "- WARN: x", "  > quote", "> quote", "---", "PASS", "FAIL", "ok", "Clean.",
        "**Pass.** Fine.", "PASS, but one", "Verdict: WARN", "Verdict: PASS", "## Result: PASS", "```", "~~~~",
        "## Result: FAIL", "## Result: PASS|WARN|FAIL|ERROR", "## Result", "No WARNs found.", "<!--", "-->",
        "| a | PASS |", "1. PASS", "    PASS", "~~PASS~~", "Revised result: FAIL", "\tFAIL", "```text PASS",
        "## Result: PASS (2 INFO)", "It does not pass.", "<details>", "</details>", "Example:", "```example",
    ]
)  # fmt: skip
REVIEWS = st.lists(LINES, max_size=12).map("\n".join)
OUTPUTS = st.lists(
    st.one_of(
        REVIEWS,
        st.builds(block, st.sampled_from(PAIRS), REVIEWS),
        st.builds(lambda pair, text: block(pair, text).rpartition("===")[0], st.sampled_from(PAIRS), REVIEWS),
    ),
    max_size=5,
).map("\n".join)  # fmt: skip
MORE = settings(max_examples=int(os.environ.get("COMMONPLACE_TEST_SHAPES", "100")))


def run(name: str, text: str) -> None:
    TARGETS[name](text.encode("utf-8", "surrogatepass"))


class TestShapes:
    @MORE
    @given(TELEMETRY)
    @example({"cost_usd": 10**400})
    def test_of_telemetry(self, document):
        run("telemetry", json.dumps(document))

    @MORE
    @given(SELECTION)
    def test_of_selections(self, document):
        run("selection", json.dumps(document))

    @MORE
    @given(SELECTION)
    def test_of_selections_in_plain_letters(self, document):
        run("selection", json.dumps(document, ensure_ascii=False))

    @MORE
    @given(YAML)
    def test_of_frontmatter(self, text):
        run("frontmatter", text)
        run("gate", text)

    @MORE
    @given(REVIEWS)
    def test_of_reviews(self, text):
        run("decision", text)

    @MORE
    @given(OUTPUTS)
    def test_of_outputs(self, text):
        run("output", text)

    @MORE
    @given(
        st.lists(st.sampled_from(["*", "**", "**/", "a", "?", "[a-", "]", "/", "[!"]), max_size=30)
    )
    def test_of_settings(self, parts):
        run("settings", f"[notes]\nexcludes = [{json.dumps(''.join(parts) or 'x')}]\n")
