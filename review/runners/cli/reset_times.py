"""Reads from messages of CLIs when an account may be used again."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
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
    r"(?i)(?:\b(?:in|after|for|wait)\s+|\b(?:\w*reset|retry)[\w-]*\W{1,5}(?=\d))"
    rf"(?:about\s+|~\s?)?((?:{_UNIT}(?:\s*,)?\s*(?:and\s+)?)+)"
)
_TIME = re.compile(
    r"(?<![\d:.])(?<!\bin )(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?\s*(?P<half>[ap]\.?m\b)?|\s*(?P<half_only>[ap]\.?m\b))"
    + _ZONE,
    re.I,
)
_CLOCK = re.compile(
    rf"(?i)(?:resets?|again|available|back|until|continue|renews?|refreshes|retry-after)\b[^\n]{{0,40}}?{_TIME.pattern}"
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
    rf"|(?P<first>\d\d?)(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<named>{_MONTH})[a-z]*)\b(?:,?\s+(?P<year>\d{{4}}))?",
    re.I,
)
_WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})(?:s|nes|rs?|ur)?(?:day)?\b", re.I)
_TOMORROW = re.compile(r"\b(day after )?tomorrow\b", re.I)
_DAY = "|".join(re.sub(r"\?P<\w+>", "", it.pattern) for it in (_DATE, _WEEKDAY, _TOMORROW))
_DAY_BEHIND = re.compile(rf",?\s*(?:on\s+)?(?:the\s+)?(?:{_DAY}){_ZONE}", re.I)
_ON_A_DAY = re.compile(
    rf"(?:reset|again|available|back|until|refresh|renew)\w*[^\n]{{1,20}}?(?:{_DAY})", re.I
)
# In the order of some country, or in a language that is not read here.
_OTHER_DATE = re.compile(r"\b\d{1,2}[./]\d{1,2}\b|\b20\d\d\b")


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
    today, day = here.replace(hour=0, minute=0, second=0, microsecond=0), _ON_A_DAY.search(words)
    if match := _CLOCK.search(words):
        return _on_the_clock(match, match[0], here)
    # In any language one time is that of the reset; those of log lines name seconds.
    times = [time for time in _TIME.finditer(words) if time[0].count(":") < 2]
    if len(times) == 1 and not day:
        return _on_the_clock(times[0], words, here)
    return _on_day(day[0], today, here) if day else None


def _zone(name: str) -> tzinfo:
    if offset := re.search(r"([+-]\d{1,2}):?(\d\d)?$", name):
        return timezone(
            timedelta(hours=int(offset[1]), minutes=int(f"{offset[1][0]}{offset[2] or 0}"))
        )
    return ZoneInfo(_ZONES.get(name.upper(), name))


def _at_date(match: re.Match[str], here: datetime) -> datetime:
    told = datetime.fromisoformat(f"{match['day']} {match['time']}")
    zone = _zone(match["zone"]) if match["zone"] else here.tzinfo
    return told if told.tzinfo else told.replace(tzinfo=zone)


def _length(number: str, unit: str) -> timedelta:
    names = ("weeks", "days", "hours", "minutes", "seconds")
    return timedelta(**{name: float(number) for name in names if name[0] == unit[0].lower()})


def _on_the_clock(match: re.Match[str], words: str, here: datetime) -> datetime | None:
    """A time of day, on a day that is named in the words or behind it, or else the next one."""
    behind = _DAY_BEHIND.match(match.string, match.end())
    if zone := match["zone"] or (behind and behind["zone"]):
        here = here.astimezone(_zone(zone))
    hour, half = int(match["hour"]), (match["half"] or match["half_only"] or "").lower()
    hour = hour % 12 + 12 * half.startswith("p") if half else hour
    told = here.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    if on_day := _on_day(f"{words} {behind[0] if behind else ''}", told, here):
        return on_day
    if _OTHER_DATE.search(words):
        return None
    return told if told > here - _JUST_PASSED else told + timedelta(days=1)


def _on_day(words: str, told: datetime, here: datetime) -> datetime | None:
    """The time of today on the day that is named; None if none is."""
    if match := _DATE.search(words):
        told = told.replace(
            year=int(match["year"] or here.year),
            month=_MONTHS.index((match["month"] or match["named"]).lower()) + 1,
            day=int(match["day"] or match["first"]),
        )
        is_near = match["year"] or told > here - timedelta(days=1)
        return told if is_near else told.replace(year=told.year + 1)
    if weekday := _WEEKDAY.search(words):
        told += timedelta(days=(_WEEKDAYS.index(weekday[1].lower()) - here.weekday()) % 7)
        return told if told > here - _JUST_PASSED else told + timedelta(days=7)
    tomorrow = _TOMORROW.search(words)
    return told + timedelta(days=2 if tomorrow[1] else 1) if tomorrow else None
