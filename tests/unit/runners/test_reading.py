"""Adapters and messages are total: any bytes give an account, in linear time."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.runners.cli.output import (
    clean,
    count,
    error_in_answer,
    failure_of,
    look,
    money,
    objects_in,
    saw_no_request,
)
from review.runners.cli.readers import READERS, Run
from review.runners.outcome import Account
from review.runners.registry import Access, Dialect, RunnerSpec
from review.runners.verify import holds_review
from review.settings.file import RunnerSettings
from review.vocabulary import FailureCode

FIELDS = {"answer": "a.b", "error": "e", "model": "m", "cost_usd": "c"}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
KEYS = st.sampled_from(
    ["type", "subtype", "result", "is_error", "errors", "usage", "modelUsage", "item", "text", "error", "message", "response", "stats", "models", "tokens", "tools", "byName", "permission_denials", "tool_input", "a", "b", "e", "m", "c", "prompt", "candidates"]
)  # fmt: skip
DOCUMENTS = st.recursive(
    SCALARS | st.sampled_from(["result", "item.completed", "turn.failed", "agent_message", "t"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=12,
)


def printed(lines: bytes) -> Run:
    """A run that printed the lines to stdout, and to stderr."""
    spec = RunnerSpec(
        "r", Dialect.JSON, settings=RunnerSettings("json", fields=FIELDS, where={"type": "t"})
    )
    return Run(spec, Access.READ, stdout=lines, stderr=lines)


class TestTotal:
    @pytest.mark.parametrize("read", READERS.values())
    @given(data=st.binary(max_size=200))
    def test_any_bytes_give_an_account(self, read, data):
        assert isinstance(read(printed(data)), Account)

    @pytest.mark.parametrize("read", READERS.values())
    @given(documents=st.lists(st.dictionaries(KEYS, DOCUMENTS, max_size=8), max_size=4))
    def test_any_json_gives_an_account_that_can_be_stored(self, read, documents):
        account = read(printed(b"\n".join(json.dumps(item).encode() for item in documents)))

        assert account.answer is None or isinstance(account.answer, bytes)
        assert all(isinstance(name, str) for name in account.models)
        json.dumps(dict(account.telemetry), allow_nan=False)

    @given(text=st.text(), limit=st.integers(10, 300))
    def test_any_message_becomes_one_printable_line(self, text, limit):
        line = clean(text, limit=limit)

        assert len(line) <= limit
        assert line.isprintable()
        assert line == line.strip()

    @given(data=st.binary(max_size=300))
    def test_any_bytes_are_a_review_or_not(self, data):
        assert holds_review(data) is False


class TestObjects:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            pytest.param('{"a": 1}', [{"a": 1}], id="alone"),
            pytest.param('\ufeff{"a": 1}', [{"a": 1}], id="behind-a-bom"),
            pytest.param('noise\n{"a": 1}\nnoise', [{"a": 1}], id="in-noise"),
            pytest.param('{"a": 1}\n{"b": 2}\r\n', [{"a": 1}, {"b": 2}], id="lines"),
            pytest.param('{\n "a": {\n  "b": 1\n }\n}', [{"a": {"b": 1}}], id="indented"),
            pytest.param('[{"a": 1}, 2, {"b": 2}]', [{"a": 1}, {"b": 2}], id="list"),
            pytest.param('{"a": "x\ty"}', [{"a": "x\ty"}], id="raw-tab"),
            pytest.param('{"a": \n{"b": 2}', [{"b": 2}], id="unclosed-before"),
            pytest.param('{oops}\n{"b": 2} trailing', [{"b": 2}], id="broken-before"),
            pytest.param('an {"a": 1} inside a line', [], id="inside-a-line"),
            pytest.param('{"a": 1', [], id="cut"),
            pytest.param("", [], id="empty"),
        ],
    )
    def test_are_found_where_they_begin_a_line(self, text, found):
        assert objects_in(text.encode()) == found

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param('{"a":\n' * 200_000, id="ever-deeper"),
            pytest.param("[\n" * 400_000, id="lists"),
            pytest.param('{"a": "\n' * 200_000, id="unclosed-texts"),
            pytest.param("{" + "\n{" * 400_000, id="braces"),
            pytest.param('{"a": ' + "9" * 1_000_000 + "}\n", id="a-long-number"),
        ],
    )
    def test_are_looked_for_in_linear_time(self, text):
        begun = time.process_time()

        objects_in(text.encode())

        assert time.process_time() - begun < 5

    @pytest.mark.parametrize("value", [True, -1, 1.5, "3", None, 2**60, [], float("nan")])
    def test_what_counts_nothing_is_unknown(self, value):
        assert count(value) is None

    @pytest.mark.parametrize("value", [True, -0.1, "3", None, float("nan"), float("inf"), 10**400])
    def test_what_is_no_amount_is_unknown(self, value):
        assert money(value) is None

    @pytest.mark.parametrize(
        ("path", "value"),
        [("a.b.1", "y"), ("a.b.2", None), ("a.x.y", None), ("a.b.c", None), ("", None)],
    )
    def test_are_looked_into_by_a_dotted_path(self, path, value):
        assert look({"a": {"b": ["x", "y"]}}, path) == value


# message, status that the CLI gives beside it, code, and what else is true
MESSAGES = [
    ("API Error: Rate limit reached", None, FailureCode.RATE_LIMITED, "retryable"),
    ("anything", 429, FailureCode.RATE_LIMITED, "retryable"),
    ("anything", 529, FailureCode.RATE_LIMITED, "retryable"),
    ("anything", 503, FailureCode.RUNNER_ERROR, "retryable"),
    ("anything", 400, FailureCode.RUNNER_ERROR, ""),
    ("anything", 403, FailureCode.RUNNER_ERROR, "unusable"),
    ("anything", None, FailureCode.RUNNER_ERROR, ""),
    ("5-hour limit reached ∙ resets 3pm", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("Weekly limit reached", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("You've reached your usage limit", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("Your credit balance is too low", 400, FailureCode.ACCOUNT_EXHAUSTED, "exhausted"),
    ("insufficient_quota", 429, FailureCode.ACCOUNT_EXHAUSTED, "exhausted"),
    ("unexpected status 502 Bad Gateway", None, FailureCode.RUNNER_ERROR, "retryable"),
    ("Request failed (503)", None, FailureCode.RUNNER_ERROR, "retryable"),
    ("unexpected status 404 Not Found", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("read ECONNRESET", None, FailureCode.RUNNER_ERROR, "retryable"),
    ("Incorrect API key provided: sk-abc", 401, FailureCode.RUNNER_ERROR, "unusable"),
    ("There's an issue with the selected model (x).", 404, FailureCode.RUNNER_ERROR, "unusable"),
    ("The model `x` does not exist", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("error: unexpected argument '--ephemeral' found", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("Provided authentication token is expired. Please try signing in again.", 401, FailureCode.RUNNER_ERROR, "unusable"),
    ("Login expired · Please run /login", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("OAuth token revoked · Please run /login", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("Please set an Auth method in your settings.json or specify GEMINI_API_KEY", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("API key not valid. Please pass a valid API key.", 400, FailureCode.RUNNER_ERROR, "unusable"),
    ("This organization has been disabled.", 400, FailureCode.RUNNER_ERROR, "unusable"),
    ("You're out of extra usage · resets 9pm", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("Opus limit reached ∙ resets 3pm", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("You have exhausted your capacity on this model. Your quota will reset after 3h20m15s.", 429, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("Usage cap reached. Your limit resets on Monday at 09:00", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("You have reached the free plan's daily message limit.", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("You have reached the rate limit", None, FailureCode.RATE_LIMITED, "retryable"),
    ("402 You have no quota (Request ID: 0A)", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("SSO session associated with this profile has expired.", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("Login failed: device code expired", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("Your workspace is out of credits.", None, FailureCode.ACCOUNT_EXHAUSTED, "exhausted"),
    ("Quota exceeded. Check your plan and billing details.", None, FailureCode.ACCOUNT_EXHAUSTED, "exhausted"),
    ("Not authenticated. Please run 'cursor-agent login' first.", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("The security token included in the request is expired", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("Unable to locate credentials.", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("No active subscription found", None, FailureCode.RUNNER_ERROR, "unusable"),
    ("You have exceeded your premium request allowance.", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("You've used all your credits for this month", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("Out of requests. Resets at 2026-11-29T18:00:00Z.", None, FailureCode.ACCOUNT_EXHAUSTED, "retryable exhausted"),
    ("line 429 of the note is long", None, FailureCode.RUNNER_ERROR, ""),
    ("", None, FailureCode.RUNNER_ERROR, ""),
]  # fmt: skip


class TestMessages:
    @pytest.mark.parametrize(("message", "status", "code", "traits"), MESSAGES)
    def test_say_what_can_be_done(self, message, status, code, traits):
        failure = failure_of(message, status=status)

        names = ("retryable", "exhausted", "unusable")
        assert failure.code == code
        assert " ".join(name for name in names if getattr(failure, name)) == traits

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            pytest.param(
                '{"error": {"message": "too long", "code": 400}}', "too long", id="wrapped"
            ),
            pytest.param(
                json.dumps({"error": {"message": json.dumps({"error": {"message": "deep"}})}}),
                "deep",
                id="wrapped-twice",
            ),
            pytest.param('{"error": "flat"}', "flat", id="flat"),
            pytest.param('{"code": 1}', '{"code": 1}', id="no-message"),
            pytest.param("[1]", "[1]", id="list"),
            pytest.param("broke\n    at f (x.js:1:2)\n    at g", "broke", id="stack"),
            pytest.param("\x1b]0;title\x07\x1b[1mbold\x1b[0m", "bold", id="escapes"),
            pytest.param("a\u202eb\u2028c\u200bd", "a b c d", id="invisible"),
            pytest.param("key sk-ant-api03-abcdefghijklmnop.", "key sk-….", id="key"),
        ],
    )
    def test_are_given_in_the_services_own_words(self, message, reason):
        assert failure_of(message).reason == reason

    def test_a_blank_one_is_said_to_be(self):
        assert failure_of(" \n", fallback="without a word").reason == "without a word"


class TestReview:
    @pytest.mark.parametrize(
        ("text", "is_one"),
        [
            pytest.param(b"=== PAIR REVIEW START 0a1b2c3d/1: a :: b ===", True, id="sentinel"),
            pytest.param(
                b"x\r\n**=== pair review start 0A1B2C3D/1: a :: b ===**\r\n", True, id="bold"
            ),
            pytest.param(
                b"=== PAIR REVIEW START 0a1b2c3d/<n>: <note> :: <gate> ===", False, id="template"
            ),
            pytest.param(
                b"So: pass.</think>=== PAIR REVIEW START 0a1b2c3d/1: a :: b ===", True, id="tag"
            ),
            pytest.param(b"> === PAIR REVIEW START 0a1b2c3d/1: a :: b ===", True, id="quoted"),
            pytest.param(
                b"\xff\xfe" + "=== PAIR REVIEW START 0a1b2c3d/1: a :: b ===".encode("utf-16-le"),
                True,
                id="utf-16",
            ),
            pytest.param(b"=== PAIR REVIEW END 0a1b2c3d/1: a :: b ===", False, id="end-alone"),
            pytest.param(b"", False, id="empty"),
            pytest.param(None, False, id="none"),
        ],
    )
    def test_is_told_by_a_line_that_opens_a_block(self, text, is_one):
        assert holds_review(text) is is_one


@pytest.mark.parametrize(
    "answer",
    [
        "I don't see a request in your message.",
        "Ich sehe leider keine Anfrage in deiner Nachricht.",
        "Hallo! Wie kann ich Ihnen helfen?",
        "Bonjour\u00a0! Comment puis-je vous aider\u00a0?",
        "It seems you sent an empty message.",
        "I'm not seeing any instructions here.",
    ],
)
def test_an_answer_to_nothing_is_known_in_other_words_too(answer):
    assert saw_no_request(answer)


@pytest.mark.parametrize(
    "answer", ["Ihr Kontingent ist erschöpft.", "Vous avez atteint votre limite d'utilisation."]
)
def test_a_quota_is_known_in_other_languages_too(answer):
    failure = error_in_answer(answer)

    assert failure is not None
    assert failure.exhausted
