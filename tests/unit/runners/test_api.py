"""Model APIs at a local server: what is asked, what an answer comes to, and every fault of a provider."""

from __future__ import annotations

import json
import threading
import time
from functools import cache

import pytest

from review.runners.api.provider import ModelCall, read_reviews, retry_after
from review.runners.api.run import open_provider, run_api
from review.runners.outcome import Tokens, cost_of
from review.settings.file import ApiKind, Prices, RunnerSettings
from review.vocabulary import Decision, FailureCode, Severity
from tests.helpers.fake_runners import prompt
from tests.helpers.provider_documents import check_parameters, prompt_of, reviews
from tests.helpers.providers import KEY, Fault, Playing, playing_providers
from tests.helpers.refusals import refuses

PRICES = Prices(input=2.0, output=10.0, cached_input=0.2, cache_write=2.5, batch=0.5)
both = pytest.mark.parametrize("kind", [kind.value for kind in ApiKind])


@pytest.fixture(scope="module")
def server():
    with playing_providers() as found:
        yield found


@pytest.fixture
def playing(server):
    server.faults, server.lacks, server.asked = [], (), []
    for kind in ApiKind:
        provider_at(server.url, kind.value).without.discard("schema")
    return server


def ask(playing: Playing, kind: str, *, stop: threading.Event | None = None, **changes):
    """Run one job of two pairs at the server."""
    fields = {"timeout": 20.0, "effort": None, "model": "some-model-1"} | changes
    call = ModelCall(prompt(), fields["model"], fields["effort"])
    stop = stop or threading.Event()
    provider = provider_at(playing.url, kind)
    return run_api(provider, call, ordinals=[1, 2], timeout=fields["timeout"], stop=stop)


@cache
def provider_at(url: str, kind: str, **settings):
    """Making a client takes a quarter of a second."""
    address = url if kind == "anthropic" else f"{url}/v1"
    declared = RunnerSettings(
        name="api", kind=ApiKind(kind), address=address, key="TEST_KEY", prices=PRICES, **settings
    )
    return open_provider(declared, environ={"TEST_KEY": KEY})


class TestAnswer:
    @both
    def test_is_typed_reviews_with_tokens_model_and_cost(self, playing, kind):
        found = ask(playing, kind, effort="high")

        assert found.failure is None
        assert [review.decision for review in found.typed.values()] == [Decision.PASS] * 2
        assert found.telemetry["models"][0].startswith("some-model-1")
        assert found.telemetry["prompt_tokens"] == 1000
        assert found.telemetry["input_tokens"] == 100
        assert found.telemetry["cached_input_tokens"] == 900
        assert found.telemetry["cost_usd"] == pytest.approx((200 + 180 + 500) / 1e6)
        body = playing.bodies()[0]
        assert "high" in (body.get("reasoning_effort"), body.get("output_config", {}).get("effort"))
        assert prompt_of(body) == prompt()

    def test_may_be_longer_than_the_sdk_allows_without_streaming(self, playing):
        provider = provider_at(playing.url, "anthropic", max_output_tokens=128_000)
        call = ModelCall(prompt(), "some-model-1")

        found = run_api(provider, call, ordinals=[1, 2], timeout=20.0, stop=threading.Event())

        assert found.failure is None
        assert playing.bodies()[0]["max_tokens"] == 128_000

    def test_has_its_prompt_cached_up_to_the_first_note(self, playing):
        ask(playing, "anthropic")

        shared, own = playing.bodies()[0]["messages"][0]["content"]
        assert shared["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in own
        assert own["text"].startswith("\n# Notes\n")
        assert "# Gates" in shared["text"]

    def test_has_its_prompt_cached_at_openai_itself_too(self):
        provider = open_provider(
            RunnerSettings(name="api", kind=ApiKind.OPENAI), environ={"OPENAI_API_KEY": KEY}
        )

        body = provider.body(ModelCall(prompt(), "some-model-1"))

        check_parameters("openai", body)
        shared, own = body["messages"][1]["content"]
        assert shared["prompt_cache_breakpoint"] == {"mode": "explicit"}
        assert shared["text"] + own["text"] == prompt()

    @both
    def test_is_text_where_the_server_has_no_structured_output(self, playing, kind):
        playing.lacks = ("json_schema",)

        found = ask(playing, kind)

        assert (found.failure, found.typed) == (None, {})
        assert found.text.count(b"PAIR REVIEW START") == 2
        assert len(playing.asked) == 2  # the refusal cost nothing, and is remembered

    @both
    def test_is_text_for_all_that_were_asked_at_once_too(self, playing, kind):
        playing.lacks, playing.delay = ("json_schema",), 0.3
        outcomes: list[object] = []
        asking = [
            threading.Thread(target=lambda: outcomes.append(ask(playing, kind).failure))
            for _ in range(4)
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        playing.delay = 0.0

        assert outcomes == [None] * 4

    @both
    def test_of_which_a_part_breaks_the_schema_keeps_the_others(self, playing, kind):
        document = reviews(prompt())
        document["reviews"][0]["decision"] = "perhaps"
        playing.faults = [Fault(text=json.dumps(document))]

        found = ask(playing, kind)

        assert (found.failure, list(found.typed)) == (None, [2])

    @both
    def test_that_was_cut_off_keeps_what_was_whole_and_says_why(self, playing, kind):
        whole = json.dumps(reviews(prompt()))
        stop = {"stop_reason": "max_tokens"} if kind == "anthropic" else {"finish_reason": "length"}
        playing.faults = [Fault(text=whole[:-30], changes=stop)]

        found = ask(playing, kind)

        assert "output limit" in found.failure.reason
        assert not found.failure.retryable
        assert list(found.typed) == [1]
        assert found.telemetry["cost_usd"] > 0

    @both
    def test_that_is_a_refusal_is_named_and_paid(self, playing, kind):
        details = {"type": "refusal", "category": None, "explanation": "not this"}
        changes = {"stop_reason": "refusal", "stop_details": details}
        playing.faults = [
            Fault(text="", changes=changes if kind == "anthropic" else {"refusal": "not this"})
        ]

        found = ask(playing, kind)

        assert found.failure.reason == "the model refused to answer: not this"
        assert found.failure.is_attempt
        assert found.telemetry["cost_usd"] > 0

    @both
    def test_of_another_model_is_told_by_its_name(self, playing, kind):
        playing.faults = [Fault(changes={"model": "other-model-9"})]

        assert ask(playing, kind).telemetry["models"] == ["other-model-9"]

    @both
    @pytest.mark.parametrize("text", ["", "I would rather chat.", '{"reviews": "none"}'])
    def test_without_a_review_fails(self, playing, kind, text):
        playing.faults = [Fault(text=text)]

        found = ask(playing, kind)

        assert (found.failure.code, found.text) == (FailureCode.NO_OUTPUT, None)


class TestFaults:
    @both
    @pytest.mark.parametrize(
        ("fault", "code", "kind_of_failure"),
        [
            pytest.param(Fault(401, f"invalid x-api-key {KEY}"), "runner-error", "unusable", id="401"),
            pytest.param(Fault(403, "not yours"), "runner-error", "unusable", id="403"),
            pytest.param(Fault(404, "model: x"), "runner-error", "unusable", id="404"),
            pytest.param(Fault(408), "runner-error", "retryable", id="408"),
            pytest.param(Fault(409), "runner-error", "retryable", id="409"),
            pytest.param(Fault(413, "too large"), "runner-error", "lasting", id="413"),
            pytest.param(Fault(500), "runner-error", "retryable", id="500"),
            pytest.param(Fault(529, "Overloaded"), "rate-limited", "retryable", id="529"),
            pytest.param(Fault(429, "insufficient_quota"), "account-exhausted", "exhausted", id="quota"),
            pytest.param(Fault(cut=True), "runner-error", "retryable", id="cut"),
            pytest.param(Fault(raw=b'{"id": '), "runner-error", "lasting", id="no-json"),
            pytest.param(Fault(raw=b"[]"), "runner-error", "lasting", id="no-object"),
        ],
    )  # fmt: skip
    def test_are_named_and_told_apart(self, playing, kind, fault, code, kind_of_failure):
        playing.faults = [fault]

        failure = ask(playing, kind, timeout=1.5).failure

        kinds = {
            name for name in ("retryable", "unusable", "exhausted") if getattr(failure, name)
        } or {"lasting"}
        assert (failure.code, kinds) == (code, {kind_of_failure})
        assert not failure.is_attempt
        assert KEY not in failure.reason
        assert len(playing.asked) == 1  # by us and by the SDK

    @both
    def test_of_a_limit_are_waited_for_within_a_run(self, playing, kind, monkeypatch):
        monkeypatch.setattr("review.runners.api.run._SPREAD", 0.01)
        playing.faults = [Fault(429, headers={"retry-after": "0"}), Fault(429, headers={"retry-after-ms": "10"})]  # fmt: skip

        found = ask(playing, kind)

        assert found.failure is None
        assert len(playing.asked) == 3

    def test_of_a_long_limit_tell_its_end(self, playing):
        playing.faults = [Fault(429, "slow down", headers={"retry-after": "4000"})]

        failure = ask(playing, "openai").failure

        assert failure.retry_after == 4000
        assert failure.reason == "HTTP 429, retry after 4000 seconds: slow down"

    @both
    def test_without_an_answer_end_with_the_time_or_at_once_when_asked_to(self, playing, kind):
        playing.faults = [Fault(silent=True), Fault(silent=True)]
        stop = threading.Event()
        threading.Timer(0.3, stop.set).start()
        began = time.monotonic()

        interrupted = ask(playing, kind, timeout=60.0, stop=stop)
        late = ask(playing, kind, timeout=0.3)

        assert time.monotonic() - began < 5
        assert interrupted.failure.code == FailureCode.INTERRUPTED
        assert late.failure.code == FailureCode.RUNNER_TIMEOUT

    @both
    def test_of_an_unreachable_server_can_pass(self, kind):
        failure = ask(Playing(url="http://127.0.0.1:1"), kind).failure

        assert (failure.code, failure.retryable) == (FailureCode.RUNNER_ERROR, True)

    @both
    def test_an_sdk_that_is_not_installed_is_named_with_the_extra(self, kind, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

        with refuses("runner-not-installed", match=f"needs the package '{kind}'") as refused:
            open_provider(RunnerSettings(name="api", kind=ApiKind(kind)), environ={})
        assert refused.value.hint == "pip install 'commonplace-review[api]'"

    def test_a_key_that_is_not_set_is_named_by_its_variable(self):
        settings = RunnerSettings(name="api", kind=ApiKind.ANTHROPIC)

        with refuses("key-not-set", match="ANTHROPIC_API_KEY, which is not set"):
            open_provider(settings, environ={})


class TestStructuredReviews:
    def test_give_findings_on_one_line_with_their_quotes(self):
        findings = [{"severity": "warn", "text": "Two\nlines.", "quote": "of\n\n the  note"}]
        answer = json.dumps(reviews(prompt(), decision="warn", findings=findings))

        review = read_reviews(answer, ordinals=[1])[1]

        (finding,) = review.findings
        assert (finding.severity, finding.text, finding.quote) == (
            Severity.WARN,
            "Two lines.",
            "of\nthe note",
        )
        assert review.suggestion == "None."

    @pytest.mark.parametrize(
        "answer", ["", "[]", "{", '{"reviews": [1, {"pair": true}]}', '{"reviews": [' * 999]
    )
    def test_of_anything_else_are_none(self, answer):
        assert read_reviews(answer, ordinals=[1]) == {}


class TestCost:
    def test_is_unknown_where_a_price_it_needs_is(self):
        assert cost_of(Tokens(input=10, output=1), Prices(input=1.0)) is None
        assert cost_of(Tokens(input=1_000_000), Prices(input=1.0)) == 1.0
        assert cost_of(Tokens(input=1_000_000), Prices(input=1.0), in_batch=True) is None
        assert cost_of(Tokens(), PRICES) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "9"}, 9),
        ({}, None),
    ],
)  # fmt: skip
def test_headers_tell_when_to_come_back(headers, seconds):
    assert retry_after(headers) == (pytest.approx(seconds, abs=1) if seconds else None)
