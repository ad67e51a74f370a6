"""Option shapes: what each `type=` takes and refuses."""

from __future__ import annotations

from argparse import ArgumentTypeError, _ExtendAction
from datetime import timedelta
from importlib import import_module

import pytest

from commonplace_site.catalogue import review_commands
from review.errors import ExitCode, UsageRefused
from review.management.kit import arguments as options
from review.management.kit.arguments import HelpShown, ReviewParser


@pytest.fixture
def parser() -> ReviewParser:
    made = ReviewParser(prog="commonplace try", called_from_command_line=True)
    made.add_argument("--model", type=options.word)
    made.add_argument("--limit", type=options.positive_int)
    made.add_argument("--mode", choices=["stale", "requested"])
    return made


class TestShapes:
    @pytest.mark.parametrize(
        ("shape", "raw", "value"),
        [
            pytest.param(options.positive_int, "7", 7, id="positive"),
            pytest.param(options.money, "2.50", 2.5, id="money"),
            pytest.param(options.duration, "15m", timedelta(minutes=15), id="minutes"),
            pytest.param(options.duration, "2h", timedelta(hours=2), id="hours"),
            pytest.param(options.duration, "90s", timedelta(seconds=90), id="seconds"),
            pytest.param(options.duration, "1d", timedelta(days=1), id="days"),
            pytest.param(options.text, "  why ", "why", id="text"),
            pytest.param(options.word, "agent:claude-code", "agent:claude-code", id="word"),
            pytest.param(options.source, "-", "-", id="standard-input"),
        ],
    )
    def test_takes(self, shape, raw, value):
        assert shape(raw) == value

    @pytest.mark.parametrize(
        ("shape", "raw"),
        [
            pytest.param(options.positive_int, "0", id="zero-is-not-positive"),
            pytest.param(options.positive_int, "-1", id="negative"),
            pytest.param(options.positive_int, "1.5", id="fraction"),
            pytest.param(options.positive_int, "٣", id="other-digits"),
            pytest.param(options.positive_int, "9" * 19, id="larger-than-a-key"),
            pytest.param(options.positive_int, "1_000", id="underscore"),
            pytest.param(options.money, "0", id="no-money"),
            pytest.param(options.money, "nan", id="nan"),
            pytest.param(options.money, "Infinity", id="infinity"),
            pytest.param(options.money, "five", id="words-for-money"),
            pytest.param(options.duration, "15", id="duration-without-unit"),
            pytest.param(options.duration, "0h", id="no-duration"),
            pytest.param(options.duration, "1w", id="unknown-unit"),
            pytest.param(options.text, " \n", id="blank"),
            pytest.param(options.word, "a\nb", id="two-lines"),
            pytest.param(options.word, "\x1b[31m", id="escape"),
            pytest.param(options.word, "x" * 201, id="long"),
            pytest.param(options.path, "", id="no-path"),
            pytest.param(options.path, "a\0b", id="nul-in-path"),
            pytest.param(options.path, "-", id="a-stream-for-a-path"),
            pytest.param(options.database, "-", id="a-stream-for-a-store"),
        ],
    )
    def test_refuses(self, shape, raw):
        with pytest.raises(ArgumentTypeError):
            shape(raw)


class TestParser:
    def test_names_the_option_that_was_meant(self, parser):
        with pytest.raises(UsageRefused) as refused:
            parser.parse_args(["--modle", "x"])

        assert refused.value.exit_code is ExitCode.USAGE
        assert "--model" in refused.value.hint

    def test_points_at_the_help_when_nothing_is_near(self, parser):
        with pytest.raises(UsageRefused) as refused:
            parser.parse_args(["--zzzzz"])

        assert refused.value.hint == "see: commonplace try --help"

    def test_takes_no_abbreviation(self, parser):
        with pytest.raises(UsageRefused):
            parser.parse_args(["--lim", "3"])

    def test_says_what_an_option_expected(self, parser):
        with pytest.raises(UsageRefused, match=r"--limit.*whole number above 0"):
            parser.parse_args(["--limit", "none"])

    def test_lists_the_choices(self, parser):
        with pytest.raises(UsageRefused, match=r"stale.*requested"):
            parser.parse_args(["--mode", "fresh"])

    @pytest.mark.parametrize(
        "words",
        [
            pytest.param(["--limit", "1", "--limit", "2"], id="other-values"),
            pytest.param(["--limit", "1", "--limit", "1"], id="the-same-value"),
            pytest.param(["--limit=1", "--limit=2"], id="with-equals-signs"),
        ],
    )
    def test_an_option_of_one_value_is_given_once(self, parser, words):
        with pytest.raises(UsageRefused, match=r"--limit: it is given twice"):
            parser.parse_args(words)

    def test_what_one_line_gave_is_no_matter_to_the_next(self, parser):
        parser.parse_args(["--limit", "1"])

        assert parser.parse_args(["--limit", "2"]).limit == 2

    def test_a_message_cannot_act_on_a_terminal(self, parser):
        with pytest.raises(UsageRefused) as refused:
            parser.parse_args(["--x\x1b[2J\n"])

        assert refused.value.message.isprintable()

    def test_help_ends_the_parsing(self, parser, capsys):
        with pytest.raises(HelpShown):
            parser.parse_args(["--help"])

        assert "--limit" in capsys.readouterr().out


@pytest.mark.parametrize("name", review_commands())
def test_no_command_loses_a_value_that_it_was_given(name):
    command = import_module(f"review.management.commands.{name}").Command()
    taking = [it for it in command.create_parser("commonplace", name)._actions if it.nargs != 0]

    for action in (it for it in taking if it.option_strings):
        assert (action.nargs == "+") == isinstance(action, _ExtendAction), action.option_strings
        assert isinstance(action, (_ExtendAction, options._StoredOnce)), action.option_strings
