"""How each CLI can end, as it was seen to: every ending comes to the right outcome."""

from __future__ import annotations

import json

import pytest

from review.protocol.output import decode_output
from review.runners import verify as proving
from review.runners.cli.readers import Run
from review.runners.outcome import RunnerFailure
from review.runners.process.run import ProcessResult
from review.runners.registry import Access, Dialect, RunnerSpec
from review.vocabulary import FailureCode
from tests.helpers.fake_runners import NOTES, TOKEN, Fake

ERROR, NONE = FailureCode.RUNNER_ERROR, FailureCode.NO_OUTPUT
LIMITED, EXHAUSTED = FailureCode.RATE_LIMITED, FailureCode.ACCOUNT_EXHAUSTED

SUCCESSES = [
    ("claude-code", "ok"), ("claude-code", "helper-model"), ("claude-code", "usage-says-zero"),
    ("claude-code", "cut-off-at-its-end"), ("claude-code", "old-cost-name"), ("claude-code", "stream-json"), ("claude-code", "noise"),
    ("claude-file", "wrote-file"),
    ("codex", "ok"), ("codex", "progress-talk"), ("codex", "reconnected"),
    ("codex", "two-turns"), ("codex", "no-message"), ("codex-file", "wrote-file"),
    ("gemini", "ok"), ("gemini", "noise"), ("gemini-lines", "stream-json"), ("gemini", "joined-messages"), ("gemini-file", "wrote-file"),
    ("llm", "ok"), ("llm", "plain"),
    ("text", "ok"), ("text", "quotes-an-error"), ("text", "ten-megabytes"), ("text", "invalid-utf8"),
    ("text", "wrote-file"), ("file", "wrote-file"), ("json", "json"), ("jsonl", "json-lines"),
]  # fmt: skip

# runner, case, code, what the reason says, and what else is true of the failure
FAILURES = [
    ("claude-code", "rate-limited", LIMITED, "Request rejected (429) · slow down", "retryable"),
    ("claude-code", "overloaded", LIMITED, "529 Overloaded", "retryable"),
    ("claude-code", "server-error", ERROR, "API Error: 500 it broke", "retryable"),
    ("claude-code", "unauthorised", ERROR, "Failed to authenticate", "unusable"),
    ("claude-code", "bad-request", ERROR, "prompt is too long", ""),
    ("claude-code", "output-limit", ERROR, "32000 output token maximum", ""),
    ("claude-code", "cut-off", ERROR, "stopped at its output limit (max_tokens)", ""),
    ("claude-code", "not-logged-in", ERROR, "Please run /login", "unusable"),
    ("claude-code", "usage-limit", EXHAUSTED, "resets 1pm (Europe/Lisbon)", "retryable exhausted"),
    ("claude-code", "usage-limit-epoch", EXHAUSTED, "limit reached|1764291600", "retryable exhausted"),
    ("claude-code", "no-credit", EXHAUSTED, "Credit balance is too low", "exhausted"),
    ("claude-code", "error-exit-zero", LIMITED, "Rate limit reached", "retryable"),
    ("claude-code", "plain-error-exit-zero", LIMITED, "Rate limit reached", "retryable"),
    ("claude-code", "empty", NONE, "worker produced no output: it gave no answer", ""),
    ("claude-code", "apology", NONE, "no review block is in what it wrote: Sorry, I can't help", ""),
    ("claude-code", "write-refused", NONE, "it was not allowed to write x/out.md", ""),
    ("claude-code", "claims-written", NONE, "I have written the review to", ""),
    ("claude-file", "write-refused", NONE, "it was not allowed to write x/out.md", ""),
    ("claude-file", "claims-written", NONE, "it wrote no review file during the run", ""),
    ("claude-file", "ok", NONE, "holds review blocks, which this runner does not take", ""),
    ("claude-code", "max-turns", ERROR, "error_max_turns: Reached maximum number of turns", ""),
    ("claude-code", "aborted", ERROR, "PAIR REVIEW START", ""),
    ("claude-code", "bad-flag", ERROR, "unknown option '--safe-mode'", "unusable"),
    ("claude-code", "cut-json", NONE, 'no answer can be read in its output: {"type": "result"', ""),
    ("claude-code", "terminated", ERROR, "exit code 143, without a word", ""),
    ("codex", "rate-limited", LIMITED, "last status: 429 Too Many Requests", "retryable"),
    ("codex", "server-error", LIMITED, "experiencing high demand", "retryable"),
    ("codex", "unauthorised", ERROR, "unexpected status 401 Unauthorized", "unusable"),
    ("codex", "bad-request", ERROR, "input is too long", ""),
    ("codex", "cut-stream", ERROR, "stream disconnected before completion", "retryable"),
    ("codex", "output-limit", ERROR, "stopped at its output limit", ""),
    ("codex", "missing-key", ERROR, "Missing environment variable", "unusable"),
    ("codex", "usage-limit", EXHAUSTED, "You've hit your usage limit", "retryable exhausted"),
    ("codex", "empty", NONE, "it gave no answer", ""),
    ("codex", "failed-exit-zero", ERROR, "model refused to continue", ""),
    ("codex", "no-ending", ERROR, "stream ended before turn.completed", "retryable"),
    ("codex", "outside-git", ERROR, "Not inside a trusted directory", "unusable"),
    ("codex-file", "claims-written", NONE, "it wrote no review file during the run", ""),
    ("gemini", "auth", ERROR, "Invalid auth method selected.", "unusable"),
    ("gemini", "untrusted", ERROR, "not running in a trusted directory", "unusable"),
    ("gemini", "turn-limit", ERROR, "Reached max session turns", ""),
    ("gemini", "bad-request", ERROR, "API key not valid", "unusable"),
    ("gemini", "per-minute", LIMITED, "Please retry in 34.07s", "retryable"),
    ("gemini", "per-day", EXHAUSTED, "exhausted your daily quota", "retryable exhausted"),
    ("gemini-lines", "stream-error", EXHAUSTED, "exhausted your daily quota", "retryable exhausted"),
    ("gemini", "resource-exhausted", LIMITED, "RESOURCE_EXHAUSTED", "retryable"),
    ("gemini", "error-exit-zero", ERROR, "empty response with no text", "retryable"),
    ("gemini", "cut-off", ERROR, "limit (Response truncated due to token limits.)", ""),
    ("gemini", "nothing", LIMITED, "on stderr: Quota exceeded for quota metric", "retryable"),
    ("gemini", "nothing-at-all", NONE, "it gave no answer", ""),
    ("gemini", "not-json", NONE, "no answer can be read in its output: I looked at the note", ""),
    ("gemini", "cancelled", ERROR, "exit code 130, without a word", ""),
    ("gemini", "write-failed", NONE, "it was not allowed to write write_file", ""),
    ("llm", "no-key", ERROR, "No key found", "unusable"),
    ("llm", "rate-limited", LIMITED, "Error code: 429", "retryable"),
    ("llm", "no-quota", EXHAUSTED, "insufficient_quota", "exhausted"),
    ("llm", "server-error", ERROR, "Error code: 500", "retryable"),
    ("llm", "bad-request", ERROR, "Error code: 400", ""),
    ("llm", "connection", ERROR, "Connection error.", "retryable"),
    ("llm", "unknown-model", ERROR, "Unknown model: gpt-nine", "unusable"),
    ("llm", "old-version", ERROR, "No such option: --json", "unusable"),
    ("llm", "cut-off", ERROR, "stopped at its output limit (length)", ""),
    ("llm", "cut-off-choice", ERROR, "stopped at its output limit (length)", ""),
    ("llm", "cut-off-stop-reason", ERROR, "stopped at its output limit (max_tokens)", ""),
    ("llm", "cut-off-candidate", ERROR, "stopped at its output limit (MAX_TOKENS)", ""),
    ("llm", "cut-off-incomplete", ERROR, "stopped at its output limit (max_output_tokens)", ""),
    ("llm", "empty", NONE, "it gave no answer", ""),
    ("text", "empty", NONE, "worker produced no output: it gave no answer", ""),
    ("text", "blank", NONE, "it gave no answer", ""),
    ("text", "apology", NONE, "Sorry, I can't help with that.", ""),
    ("text", "error-as-answer", LIMITED, "API Error: Rate limit reached", "retryable"),
    ("text", "limit-as-answer", EXHAUSTED, "Claude AI usage limit reached", "retryable exhausted"),
    ("text", "killed", ERROR, "ended by SIGKILL, without a word", ""),
    ("text", "exit-without-a-word", ERROR, "exit code 3, without a word", ""),
    ("text", "review-then-failure", ERROR, "it broke", ""),
    ("file", "ok", NONE, "holds review blocks, which this runner does not take", ""),
    ("file", "claims-written", NONE, "it wrote no review file during the run", ""),
    ("file", "old-file", NONE, "it wrote no review file during the run", ""),
    ("file", "blank-file", NONE, "its review file is blank", ""),
    ("file", "pipe-as-file", NONE, "it wrote no review file during the run", ""),
    ("file", "link-as-file", NONE, "it wrote no review file during the run", ""),
    ("json", "json-error", LIMITED, "quota exceeded", "retryable"),
    ("json", "apology", NONE, "no answer can be read in its output: Sorry", ""),
]  # fmt: skip


def traits_of(failure: RunnerFailure) -> str:
    """The names of what is true of the failure."""
    names = ("retryable", "exhausted", "unusable")
    return " ".join(name for name in names if getattr(failure, name))


class TestSuccess:
    @pytest.mark.parametrize(
        ("runner", "case"), [pytest.param(*row, id="-".join(row)) for row in SUCCESSES]
    )
    def test_gives_the_review_of_every_pair(self, runner, case, tmp_path):
        outcome = Fake(runner, case).run(tmp_path).outcome

        assert outcome.failure is None
        for number, note in enumerate(NOTES, 1):
            assert f"PAIR REVIEW END {TOKEN}/{number}: {note} ::".encode() in outcome.text


class TestFailure:
    @pytest.mark.parametrize(
        ("runner", "case", "code", "says", "traits"),
        [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in FAILURES],
    )
    def test_is_named_in_the_words_of_the_cli(self, runner, case, code, says, traits, tmp_path):
        failure = Fake(runner, case).run(tmp_path).outcome.failure

        assert (failure.code, traits_of(failure)) == (code, traits)
        assert says in failure.reason

    @pytest.mark.parametrize(
        ("runner", "case"),
        [
            pytest.param("claude-code", "error-exit-zero", id="error-in-the-envelope"),
            pytest.param("text", "error-as-answer", id="error-in-place-of-the-answer"),
            pytest.param("claude-code", "claims-written", id="a-claim"),
            pytest.param("text", "apology", id="an-apology"),
        ],
    )
    def test_no_prose_is_taken_for_a_review(self, runner, case, tmp_path):
        assert Fake(runner, case).run(tmp_path).outcome.text is None

    def test_what_was_reviewed_before_it_failed_is_kept(self, tmp_path):
        outcome = Fake("text", "review-then-failure").run(tmp_path).outcome

        assert f"PAIR REVIEW END {TOKEN}/2".encode() in outcome.text

    def test_a_signal_is_named_once(self, tmp_path):
        reason = Fake("text", "killed").run(tmp_path).outcome.failure.reason

        assert reason == "ended by SIGKILL, without a word"

    def test_the_reason_is_one_clean_line_without_keys(self, tmp_path):
        failure = Fake("text", "control-characters").run(tmp_path).outcome.failure

        assert failure.reason == "bad flag sk-…"

    def test_the_reason_is_bounded_and_keeps_both_ends(self, tmp_path):
        reason = Fake("text", "long-complaint").run(tmp_path).outcome.failure.reason

        assert len(reason) <= 1000
        assert reason.startswith("first word")
        assert reason.endswith("last word")


def prove(dialect, stdout, *, stderr=b"", exit_code=0, file=None):
    """What a run of a CLI that printed this comes to."""
    spec = RunnerSpec("r", dialect, access={Access.READ: ()})
    result = ProcessResult(exit_code, False, False, 1.0, False)
    run = Run(spec, Access.READ, stdout, stderr, file, result=result, timeout=9.0)
    return proving.verify_run(run)


BLOCK = "=== PAIR REVIEW START 0a1b2c3d/1: a :: b ===\n## Result: PASS\n=== PAIR REVIEW END 0a1b2c3d/1: a :: b ==="


class TestAttempt:
    @pytest.mark.parametrize(
        ("dialect", "stdout", "stderr", "exit_code", "is_attempt"),
        [
            (Dialect.TEXT, "", "not logged in", 1, False),
            (Dialect.TEXT, "", "it broke", 3, False),
            (Dialect.TEXT, "panic: no config", "", 101, False),
            (Dialect.TEXT, "You're out of extra usage · resets 9pm", "", 0, False),
            (Dialect.TEXT, "I don't see a request in your message.", "", 0, False),
            (Dialect.TEXT, "Sorry, I can't help with that.", "", 0, True),
            (Dialect.TEXT, "", "", 0, True),
            (Dialect.TEXT, BLOCK, "it broke", 3, True),
            (Dialect.CODEX, '{"type": "turn.failed", "error": {"message": "no"}}', "", 1, False),
            (Dialect.CLAUDE_CODE, '{"type": "result", "subtype": "error_max_turns", "is_error": true, "modelUsage": {"m": {"outputTokens": 9}}}', "", 1, True),
        ],
    )  # fmt: skip
    def test_is_one_where_a_model_had_answered(
        self, dialect, stdout, stderr, exit_code, is_attempt
    ):
        outcome = prove(dialect, stdout.encode(), stderr=stderr.encode(), exit_code=exit_code)

        assert outcome.failure.is_attempt is is_attempt


class TestOtherLanguages:
    @pytest.mark.parametrize(
        "words", ["Du hast dein Limit erreicht", "利用上限に達しました。", "Nicht angemeldet"]
    )
    def test_a_notice_alone_is_kept_as_the_reason_and_with_an_exit_code_no_attempt(self, words):
        done, failed = (prove(Dialect.TEXT, words.encode(), exit_code=code) for code in (0, 1))

        assert words in done.failure.reason
        assert failed.failure.reason == words
        assert not failed.failure.is_attempt


def test_a_shell_that_finds_nothing_to_run_concerns_all_jobs():
    assert prove(Dialect.TEXT, b"", stderr=b"sh: nicht gefunden", exit_code=127).failure.unusable


class TestNoRequest:
    @pytest.mark.parametrize(
        "answer",
        [
            "I don't see a request",
            "I don\u2019t see any specific question or task in your message. How can I help?",
            "It looks like your message came through empty.",
            "Your prompt appears to be empty. What would you like me to do?",
            "No task was provided.",
            "Hello! How can I help you today?",
            "Hello! How can I assist you today?",
            "I'm ready to help. What's the task?",
            "It seems you haven't provided a question or task yet.",
            "There doesn't appear to be a prompt in your message.",
            "Got it! Let me know what you'd like to work on.",
            "\u4f60\u597d\uff01\u6709\u4ec0\u4e48\u6211\u53ef\u4ee5\u5e2e\u52a9\u4f60\u7684\u5417\uff1f",
            "Bonjour\u00a0! Comment puis-je vous aider\u00a0?",
        ],
    )
    def test_is_worth_another_run(self, answer):
        failure = prove(Dialect.TEXT, answer.encode()).failure

        assert (failure.code, failure.misread) == (NONE, True)

    def test_is_not_read_from_an_answer_with_a_review(self):
        outcome = prove(Dialect.TEXT, f"How can I help?\n{BLOCK}\n".encode())

        assert outcome.failure is None


CLAUDE = Dialect.CLAUDE_CODE


class TestCutStream:
    @pytest.mark.parametrize("code", [0, -9])
    def test_gives_the_reviews_that_it_had(self, code):
        items = [{"type": "agent_message", "text": text} for text in (BLOCK, "I am done.")]
        events = [json.dumps({"type": "item.completed", "item": item}) for item in items]
        outcome = prove(Dialect.CODEX, "\n".join(events).encode(), exit_code=code)

        assert outcome.text.decode() == BLOCK
        assert outcome.failure.retryable

    @pytest.mark.parametrize(
        ("dialect", "event", "last"),
        [
            (
                Dialect.CODEX,
                {"type": "item.completed", "item": {"type": "agent_message", "text": BLOCK}},
                {"type": "error", "message": "Reconnecting... 5/5"},
            ),
            (CLAUDE, {"type": "assistant", "message": {"content": [{"text": BLOCK}]}}, {}),
        ],
    )
    def test_may_pass_whatever_its_exit_code_and_last_words(self, dialect, event, last):
        printed = f"{json.dumps(event)}\n{json.dumps(last)}".encode()
        outcome = prove(dialect, printed, stderr=b"odd words", exit_code=1)

        assert (outcome.text.decode(), outcome.failure.retryable) == (BLOCK, True)


class TestTerminal:
    @pytest.mark.parametrize(
        "escape",
        ["\x1b[?2004h", "\x1b[1;32m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b(B"],
        ids=["mode", "colour", "title", "link", "charset"],
    )
    @pytest.mark.parametrize("dialect", [Dialect.TEXT, Dialect.CLAUDE_CODE, Dialect.CODEX])
    def test_sequences_are_removed_before_reading(self, escape, dialect):
        said = {"type": "result", "subtype": "success", "result": BLOCK, "total_cost_usd": 0.5}
        item = {"type": "agent_message", "text": BLOCK}
        stdout = {
            Dialect.TEXT: escape.join(["", *BLOCK.splitlines(keepends=True), ""]),
            Dialect.CLAUDE_CODE: f"{escape}{json.dumps(said)}{escape}\n",
            Dialect.CODEX: f"{escape}{json.dumps({'type': 'item.completed', 'item': item})}\n"
            f'{escape}{{"type": "turn.completed"}}\n',
        }[dialect]

        outcome = prove(dialect, stdout.encode())

        assert outcome.failure is None
        assert decode_output(outcome.text) == BLOCK


class TestNotices:
    def test_of_a_run_that_went_well_are_kept(self, tmp_path):
        telemetry = Fake("codex", "reconnected").run(tmp_path).outcome.telemetry

        assert telemetry["notices"] == ["Reconnecting... 1/5 (stream disconnected)"]

    @pytest.mark.parametrize(
        ("line", "is_one"),
        [
            ("event stream lagged; dropped 12 events", True),
            ("Rate limited; waiting 12 s", True),
            ("Model overloaded, switched to flash", True),
            ("Server busy. Trying again in 3 seconds", True),
            ("Automatically switching from pro to flash for this session", True),
            ("To resume this session: odd resume 12", False),
            ("Loaded 3 flags.", False),
        ],
    )
    def test_stand_on_stderr_too(self, line, is_one):
        outcome = prove(Dialect.TEXT, BLOCK.encode(), stderr=f"Loaded.\n{line}\n".encode())

        assert outcome.telemetry.get("notices") == ([line] if is_one else None)

    @pytest.mark.parametrize(
        ("event", "words"),
        [
            ({"type": "system", "subtype": "api_retry", "error": "overloaded"}, "api_retry overloaded"),
            ({"type": "system", "subtype": "compact_boundary"}, "compact_boundary"),
            ({"type": "item.completed", "item": {"type": "error", "message": "It lags."}}, "It lags."),
            ({"type": "retry", "part": {"type": "retry", "error": {"message": "It is busy."}}}, "It is busy."),
            ({"type": "system", "subtype": "init", "error": "none"}, None),
        ],
    )  # fmt: skip
    def test_are_events_of_a_stream(self, event, words):
        result = {"type": "result", "subtype": "success", "result": BLOCK}
        stdout = f"{json.dumps(event)}\n{json.dumps(result)}\n"

        outcome = prove(Dialect.CLAUDE_CODE, stdout.encode())

        assert outcome.telemetry.get("notices") == (words and [words])


OTHER = BLOCK.replace("0a1b2c3d/1: a", "0a1b2c3d/2: c")
DRAFT = BLOCK.replace("PASS", "FAIL")
LAST = {"type": "turn.completed"}


def _message(words):
    return {"type": "item.completed", "item": {"type": "agent_message", "text": words}}


def _assistant(words):
    content = [{"type": "thinking", "thinking": DRAFT}, {"type": "text", "text": words}]
    return {"type": "assistant", "message": {"content": content}}


class TestMessages:
    @pytest.mark.parametrize(
        ("messages", "text"),
        [
            (["Let me look.", BLOCK, "Both pass."], BLOCK),
            ([BLOCK, "Now the second.", OTHER], f"{BLOCK}\n{OTHER}"),
            ([DRAFT, BLOCK], BLOCK),
            ([DRAFT, f"{BLOCK}\n{OTHER}"], f"{BLOCK}\n{OTHER}"),
        ],
        ids=["closing-words", "one-each", "a-draft", "a-draft-of-one"],
    )
    @pytest.mark.parametrize("is_whole", [True, False])
    @pytest.mark.parametrize("dialect", [Dialect.CODEX, Dialect.CLAUDE_CODE])
    def test_with_reviews_are_the_answer(self, dialect, messages, text, is_whole):
        event = _message if dialect is Dialect.CODEX else _assistant
        result = {"type": "result", "subtype": "success", "result": messages[-1]}
        end = LAST if dialect is Dialect.CODEX else result
        events = [*map(event, messages), *([end] if is_whole else [])]

        outcome = prove(dialect, "\n".join(map(json.dumps, events)).encode())

        assert outcome.text.decode() == text
        assert (outcome.failure is None) == is_whole
        assert is_whole or outcome.failure.retryable
