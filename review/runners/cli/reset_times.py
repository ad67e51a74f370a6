"""Reads from messages of CLIs when an account may be used again."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_LONGEST = timedelta(days=40)
_JUST_PASSED = timedelta(minutes=10)
_EPOCH = re.compile(r"\b(1[5-9]\d{8}|[23]\d{9})(?:\d{3})?\b")
_ZONE = (
    r"(?:[^\n\w+-]{0,3}(?P<zone>(?:UTC|GMT)?\s?[+-]\d{1,2}(?::?\d\d)?\b|UTC|GMT"
    r"|[PMCE][SD]?T\b|Pacific|Eastern|CES?T|BST|IST|[JK]ST|SGT|AE[SD]T|[A-Z][A-Za-z_]+(?:/[A-Za-z_+\-0-9]+)+))?"
)
_ISO = re.compile(
    r"\b(?P<day>\d{4}-\d\d-\d\d)(?:[T ]|\sat\s)"
    rf"(?P<time>\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z\b)?){_ZONE}"
)
_IN_SECONDS = re.compile(
    r"(?:(?:resets?|retry)[_ -](?:in|after)[_ -]seconds|retry[_ -]?(?:after|delay))\W{1,5}(\d+)(?=s\b|\s*(?:sec|[\"',;}\n]|$))", re.I
)  # fmt: skip
_UNIT = r"(\d+(?:\.\d+)?)\s*(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b"
_UNGLUED = re.compile(r"(?<=\d)([wdhms])(?=\d)", re.I)
_RELATIVE = re.compile(
    r"(?:\b(?:in|after|for|wait)\s+|\b(?:\w*reset|retry)[\w-]*\W{1,5}(?=\d))"
    rf"(?:about\s+|~\s?)?((?:{_UNIT}(?:\s*,)?\s*(?:and\s+)?)+)",
    re.I,
)
_TIME = re.compile(
    r"(?<![\d:.])(?<!\bin )(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?\s*(?P<half>[ap]\.?m\b)?|\s*(?P<half_only>[ap]\.?m\b))"
    + _ZONE,
    re.I,
)
_CLOCK = re.compile(
    rf"(?:resets?|again|available|back|until|renews?|refreshes|retry-after)\b[^\n]{{0,40}}?{_TIME.pattern}",
    re.I,
)
_WORDS = ((r"\ban? (?=(?:hour|minute|day|week)\b)", "1 "), ("midnight", "0:00"), ("noon", "12:00"))
_ZONES = {
    "GMT": "UTC", "BST": "Europe/London", "CEST": "CET", "JST": "Asia/Tokyo", "KST": "Asia/Seoul",
    "IST": "Asia/Kolkata", "SGT": "Asia/Singapore", "AEST": "Australia/Sydney",
    "AEDT": "Australia/Sydney", "PACIFIC": "PST8PDT", "EASTERN": "EST5EDT",
} | {
    f"{zone[0]}{half}T": zone
    for zone in ("PST8PDT", "MST7MDT", "CST6CDT", "EST5EDT") for half in ("S", "D", "")
}  # fmt: skip
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<month>{_MONTH})[a-z]*\.?\s+(?P<day>\d\d?)(?:st|nd|rd|th)?"
    rf"|(?P<first>\d\d?)(?:st|nd|rd|th)?\s+(?P<named>{_MONTH})[a-z]*)\b(?:,?\s+(?P<year>\d{{4}}))?",
    re.I,
)
_ON_A_DAY = re.compile(
    rf"(?:reset|again|available|until|refresh)\w*[^\n]{{1,20}}?{_DATE.pattern}", re.I
)
_WEEKDAY = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*\b", re.I)
_WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def read_reset_time(words: str, *, now: datetime, zone: tzinfo | None = None) -> datetime | None:
    """Read when the account may be used again; None if no time is named; `zone` of bare times."""
    try:
        told = _read(words, now, now.astimezone(zone))
    except (ValueError, OverflowError, KeyError):  # no such day, year or zone
        return None
    if told is None or not now - timedelta(days=1) < told < now + _LONGEST:
        return None
    return told.astimezone(UTC)


def _read(words: str, now: datetime, here: datetime) -> datetime | None:
    for pattern, plain in _WORDS:
        words = re.sub(pattern, plain, words, flags=re.I)
    if match := _EPOCH.search(words):
        return datetime.fromtimestamp(int(match[1]), UTC)
    dates = (_at_date(match, here) for match in _ISO.finditer(words))
    if told := next((date for date in dates if date > now), None):  # those of log lines have passed
        return told
    words = _ISO.sub("", words)
    if match := _IN_SECONDS.search(words):
        return now + timedelta(seconds=int(match[1]))
    if match := _RELATIVE.search(_UNGLUED.sub(r"\1 ", words)):
        return now + sum(
            (_length(*unit) for unit in re.findall(_UNIT, match[1], re.I)), timedelta()
        )
    day = _ON_A_DAY.search(words)
    # In any language one time is that of the reset; those of log lines name seconds.
    times = [time for time in _TIME.finditer(words) if time[0].count(":") < 2]
    if match := _CLOCK.search(words) or (times[0] if len(times) == 1 and not day else None):
        return _on_the_clock(match, here)
    return day and _on_day(day, here.replace(hour=0, minute=0, second=0, microsecond=0), here)


def _zone(name: str) -> tzinfo:
    if offset := re.search(r"([+-]\d{1,2}):?(\d\d)?$", name):
        minutes = int(offset[2] or 0) * (-1 if offset[1].startswith("-") else 1)
        return timezone(timedelta(hours=int(offset[1]), minutes=minutes))
    return ZoneInfo(_ZONES.get(name.upper(), name))


def _at_date(match: re.Match[str], here: datetime) -> datetime:
    told = datetime.fromisoformat(f"{match['day']} {match['time']}")
    zone = _zone(match["zone"]) if match["zone"] else here.tzinfo
    return told if told.tzinfo else told.replace(tzinfo=zone)


def _length(number: str, unit: str) -> timedelta:
    names = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
    return timedelta(**{names[unit[0].lower()]: float(number)})


def _on_the_clock(match: re.Match[str], here: datetime) -> datetime:
    """A time of day, on a day that is named before it or else the next one."""
    if match["zone"]:
        here = here.astimezone(_zone(match["zone"]))
    hour, half = int(match["hour"]), (match["half"] or match["half_only"] or "").lower()
    if half:
        hour = hour % 12 + 12 * half.startswith("p")
    told = here.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    if day := _DATE.search(match[0]):
        return _on_day(day, told, here)
    if weekday := _WEEKDAY.search(match[0]):
        told += timedelta(days=(_WEEKDAYS.index(weekday[1].lower()) - here.weekday()) % 7)
        return told if told > here - _JUST_PASSED else told + timedelta(days=7)
    if "tomorrow" in match[0].lower():
        return told + timedelta(days=1)
    return told if told > here - _JUST_PASSED else told + timedelta(days=1)


def _on_day(match: re.Match[str], told: datetime, here: datetime) -> datetime:
    month = _MONTHS.index((match["month"] or match["named"]).lower()) + 1
    named = date(int(match["year"] or here.year), month, int(match["day"] or match["first"]))
    told = told.replace(year=named.year, month=named.month, day=named.day)
    if match["year"] or told > here - timedelta(days=1):
        return told
    return told.replace(year=told.year + 1)
