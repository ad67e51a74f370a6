"""What must be told to nobody: keys, passwords, and how the store's server is entered."""

from __future__ import annotations

import json
import logging

import pytest

from commonplace_site.logs import MAX_LINE, SafeFormatter
from commonplace_site.settings.secret import secret_key
from review.protocol.telemetry import (
    CUT,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ITEMS,
    kept_telemetry,
    masked,
)
from review.runners.cli.output import clean
from review.runners.process.run import worker_environment
from tests.builders import make_jobs, make_output, make_root
from tests.helpers.commands import run
from tests.helpers.forked import run_forked
from tests.helpers.refusals import refuses

PASSWORD = "hunter2-hunter2"
KEY = "K" * 20 + "-this-key-signs-every-session"
SERVER = f"postgres://ana:{PASSWORD}@127.0.0.1:1/reviews"
TOKENS = (
    "sk-ant-api03-abcdefghijklmnop", "ghp_abcdefghijklmnop1234", "github_pat_11ABCDEFG0abcdefghij",
    "AIzaSyA-1234567890abcdefg", "AKIAIOSFODNN7EXAMPLE", "xoxb-123456789012-abcdef", "glpat-abcdefghijklmnop",
    "Bearer eyJhbGciOiJIUzI1NiJ9.e30.abcdefgh", "https://ana:hunter2-hunter2@example.org/x.git",
)  # fmt: skip


class TestCommands:
    @pytest.mark.parametrize("flags", [[], ["--json"]])
    @pytest.mark.parametrize(
        "command",
        [
            ["review_doctor"], ["review_status"], ["migrate"], ["check", "--deploy"], ["help"],
            ["review_job_list", "--nonsense"], ["serve", "--link"],
        ],
        ids=lambda words: words[0],
    )  # fmt: skip
    def test_tell_neither_key_nor_password(self, tmp_path, command, flags):
        make_root(tmp_path)
        secrets = {"COMMONPLACE_REVIEW_DB": SERVER, "COMMONPLACE_SECRET_KEY": KEY}

        result = run_forked(*command, *flags, root=tmp_path, env=secrets)

        assert PASSWORD not in result.out + result.err
        assert KEY not in result.out + result.err

    def test_tell_no_key_that_is_kept_in_a_file(self, tmp_path):
        make_root(tmp_path)
        assert run_forked("migrate", root=tmp_path).exit == 0
        key = (tmp_path / "kb" / "reports" / ".secret-key").read_text()

        for command in (["review_doctor", "--json"], ["serve", "--link"], ["check", "--deploy"]):
            result = run_forked(*command, root=tmp_path)

            assert key not in result.out + result.err


class TestKey:
    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
    def test_that_others_can_read_or_choose_is_refused(self, tmp_path, mode):
        path = tmp_path / ".secret-key"
        path.write_text(KEY)
        path.chmod(mode)

        with refuses("secret-key-refused", match="open to other users"):
            secret_key(path)

    def test_is_told_in_no_refusal(self, tmp_path):
        path = tmp_path / ".secret-key"
        path.touch(mode=0o600)
        path.write_text(KEY[:20])

        with refuses("secret-key-refused") as refused:
            secret_key(path)

        assert KEY[:20] not in refused.value.message + refused.value.hint


class TestWorkers:
    def test_are_told_nothing_of_the_store_and_the_pages(self):
        ours = {
            "COMMONPLACE_REVIEW_DB": SERVER, "COMMONPLACE_SECRET_KEY": KEY, "COMMONPLACE_ACTOR": "human:ana",
            "DJANGO_SETTINGS_MODULE": "x", "PGPASSWORD": PASSWORD, "PGPASSFILE": "x", "PGSERVICEFILE": "x",
            "REVIEW_SWEEP_JOBS": "4",
        }  # fmt: skip

        told = worker_environment({**ours, "PATH": "/bin", "ANTHROPIC_API_KEY": "theirs"}, extra={})

        assert told == {"PATH": "/bin", "ANTHROPIC_API_KEY": "theirs"}

    @pytest.mark.parametrize("token", TOKENS)
    def test_complaints_are_kept_without_keys(self, token):
        assert token[12:] not in clean(f"401 for {token}: refused", limit=1000)

    @pytest.mark.parametrize("token", TOKENS)
    def test_telemetry_is_kept_without_keys(self, token):
        told = {"session": {"headers": [f"x {token} y"]}, token: 1}

        assert token[12:] not in json.dumps(kept_telemetry(told))

    def test_telemetry_is_kept_without_values_that_are_named_as_secrets(self):
        told = {
            "apiKey": "a",
            "password": "b",
            "refresh_token": "c",
            "Authorization": "d",
            "turns": 3,
        }

        assert kept_telemetry(told) == {
            "apiKey": "…", "password": "…", "refresh_token": "…", "Authorization": "…", "turns": 3,
        }  # fmt: skip

    def test_numbers_of_tokens_are_no_secrets(self):
        told = {"input_tokens": 5, "usage": {"cache_read_input_tokens": 7}, "session_id": "a-b"}

        assert kept_telemetry(told) == told

    def test_prose_that_only_mentions_a_key_stays(self):
        words = "No API key was found: set ANTHROPIC_API_KEY, see sk-…"

        assert masked(words) == words


class TestTelemetryBound:
    def test_is_kept_small_and_says_so(self):
        wide = {f"model-{number}": {"tokens": [number] * 9} for number in range(10 * MAX_ITEMS)}
        long = {"text": "x" * 10_000_000}
        deep: dict[str, object] = {}
        for _ in range(10 * MAX_DEPTH):
            deep = {"a": deep, "b": [[deep]]}

        for told in (wide, long, deep, {"all": [wide] * 3, **long}):
            assert len(json.dumps(kept_telemetry(told))) <= 2 * MAX_BYTES
        assert kept_telemetry({"turns": 3} | wide) == {"turns": 3, CUT: True}

    def test_in_a_file_is_bounded(self, root, db, tmp_path):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id))
        (tmp_path / "big.json").write_text('{"a": "' + "x" * 1_000_001 + '"}')

        result = run(
            "ingest_bundle_output", "--review-job-id", job.review_job_id,
            "--telemetry-json", tmp_path / "big.json",
        )  # fmt: skip

        assert result.exit == 5
        assert "larger than 1,000,000 bytes" in result.err

    @pytest.mark.parametrize(
        "told",
        ['{"a": "\\u0000"}', '{"a": "\\ud800"}', '{"a": 1e999}', '{"n": ' + "9" * 400 + "}", "[" * 100_000, "{}"],
        ids=["nul", "half-a-pair", "infinite", "endless", "deep", "empty"],
    )  # fmt: skip
    def test_of_any_kind_is_taken_or_refused(self, root, db, told):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id))

        result = run(
            "ingest_bundle_output",
            "--review-job-id",
            job.review_job_id,
            "--telemetry-json",
            "-",
            stdin=told,
        )

        assert result.exit in (0, 5)


class TestLog:
    def test_a_request_cannot_write_a_line_of_its_own(self):
        evil = "GET /\x1b]0;x\x07\n\rERROR all is lost\x9b31m\u202e HTTP/1.1"
        record = logging.LogRecord(
            "django.server", logging.WARNING, "", 0, '"%s" %s', (evil, "404"), None
        )

        line = SafeFormatter("%(levelname)s %(message)s").format(record)

        assert "\n" not in line
        assert line.isprintable()

    def test_a_request_cannot_make_a_line_as_long_as_it_likes(self):
        record = logging.LogRecord("x", logging.WARNING, "", 0, "%s", ("a" * 70_000,), None)

        assert len(SafeFormatter("%(message)s").format(record)) <= MAX_LINE + 1

    def test_a_traceback_cannot_act(self):
        error = ValueError("\x1b]0;x\x07 /enter/1/abc-secret")
        record = logging.LogRecord(
            "django.request", logging.ERROR, "", 0, "x", (), (ValueError, error, None)
        )

        line = SafeFormatter("%(message)s").format(record)

        assert "\x1b" not in line
        assert "abc-secret" not in line
