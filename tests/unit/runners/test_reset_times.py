"""When an account may be used again, in the words of CLIs."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from review.runners.cli.reset_times import read_reset_time

NOW = datetime(2026, 11, 28, 19, 30, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("You're out of extra usage · resets 9pm (UTC)", "2026-11-28T21:00"),
        ("You're out of extra usage · resets 9pm", "2026-11-28T20:00"),
        ("You've hit your limit · resets 1pm (Europe/Lisbon)", "2026-11-29T13:00"),
        ("5-hour limit reached ∙ resets 12am (UTC)", "2026-11-29T00:00"),
        ("resets 12:30 pm (UTC)", "2026-11-29T12:30"),
        ("limit reached, resets at 21:15 UTC", "2026-11-28T21:15"),
        ("resets 7:25pm (UTC)", "2026-11-28T19:25"),
        ("Weekly limit reached ∙ resets Dec 3 at 9am (UTC)", "2026-12-03T09:00"),
        ("Weekly limit reached ∙ resets Jan 2, 1pm (UTC)", "2027-01-02T13:00"),
        ("try again at Nov 29th, 2026 6:12 PM.", "2026-11-29T17:12"),
        ("Your limit resets Mon 9:00 AM (UTC)", "2026-11-30T09:00"),
        ("available again tomorrow at 8am (UTC)", "2026-11-29T08:00"),
        ("You've hit your usage limit, or try again at 6:12 AM.", "2026-11-29T05:12"),
        ("resets at 2026-11-28T21:00:00Z", "2026-11-28T21:00"),
        ("resets at 2026-11-28T23:00:00.000+02:00", "2026-11-28T21:00"),
        ("quota resets 2026-11-28 21:00:00 UTC", "2026-11-28T21:00"),
        ("Claude AI usage limit reached|1795903200", "2026-11-28T22:00"),
        ('{"resets_at":1795903200000}', "2026-11-28T22:00"),
        ('"resets_in_seconds": 3600', "2026-11-28T20:30"),
        ("try again in 3 hours 20 minutes", "2026-11-28T22:50"),
        ("or try again in 2 days, 3 hours and 5 minutes.", "2026-11-30T22:35"),
        ("Your quota will reset after 3h20m15s.", "2026-11-28T22:50"),
        ("try again in 45 minutes", "2026-11-28T20:15"),
        ("Please wait an hour before trying again", "2026-11-28T20:30"),
        ("retry-after: 3600", "2026-11-28T20:30"),
        ('"retryDelay": "3600s"', "2026-11-28T20:30"),
        ("Your limit resets at midnight.", "2026-11-28T23:00"),
        ("Your limit resets at 6 p.m. PST", "2026-11-29T02:00"),
        ("Your limit resets at 9pm (CEST)", "2026-11-28T20:00"),
        ("The limit resets on December 1st", "2026-11-30T23:00"),
        ("resets 6:30pm IST", "2026-11-29T13:00"),
        ("resets at 5:00 AM Pacific Time", "2026-11-29T13:00"),
        ("resets at 22:00 GMT+1", "2026-11-28T21:00"),
        ("You will regain access on 2026-12-01 at 00:00 UTC.", "2026-12-01T00:00"),
        ("resets at 2026-11-29 05:00:00 (Asia/Shanghai)", "2026-11-28T21:00"),
        ("x-ratelimit-reset-requests: 6m0s", "2026-11-28T19:36"),
        ("You've hit your weekly limit · resets Monday 9am", "2026-11-30T08:00"),
        ("resets Nov 30, 5pm (Europe/Berlin)", "2026-11-30T16:00"),
        ("Your weekly limit resets on Monday.", "2026-11-29T23:00"),
        ("resets on the 1st of December", "2026-11-30T23:00"),
        ("Daily limit reached. Please try again tomorrow.", "2026-11-28T23:00"),
        ("Limit resets at 9am on Monday", "2026-11-30T08:00"),
        ("resets at 15:00 tomorrow (UTC)", "2026-11-29T15:00"),
        ("try again at 10:30 AM on Dec 2, 2026", "2026-12-02T09:30"),
        ("You can continue on Tuesday at 10:00", "2026-12-01T09:00"),
        ("available the day after tomorrow at 9am", "2026-11-30T08:00"),
        ("Retry-After: Sat, 28 Nov 2026 21:00:00 GMT", "2026-11-28T21:00"),
        ("Se restablece a las 21:00", "2026-11-28T20:00"),
        ("2026-11-28T19:29:58Z ERROR limit reached, resets 9pm (UTC)", "2026-11-28T21:00"),
    ],
)
def test_is_read_as_it_is_told(words, told):
    found = read_reset_time(words, now=NOW, zone=ZoneInfo("Europe/Paris"))

    assert found is not None
    assert found.replace(second=0, tzinfo=None).isoformat(timespec="minutes") == told


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Credit balance is too low",
        "2026-11-28T19:29:58.120Z ERROR stream: credit balance is too low",
        "[19:29:58] credit balance is too low",
        "You've hit your usage limit. Upgrade to Pro.",
        "usage limit reached|1000000000",
        "resets Feb 30, 1pm",
        "resets 9pm (No/Such_Zone)",
        "resets 77:99",
        "in 999999999999 days",
        "try again at 10 de dez. de 2026, 11:52.",
        "resets 11/30 at 5pm",
        "Your limit resets next month.",
        "Credit balance is too low; a top-up on Monday helps",
        "resets 2026-13-40T99:99",
    ],
)
def test_is_unknown_where_no_time_is_told(words):
    assert read_reset_time(words, now=NOW, zone=UTC) is None
