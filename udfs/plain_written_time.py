"""Forms of a time that is written as text, without Spark."""

from __future__ import annotations

import datetime as dt
import re
from zoneinfo import ZoneInfo

FORM = (
    r"^(\d{4})([-/])(\d\d)\2(\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:[.,](\d{1,9}))?"
    r"(?: ?([Zz]|(?:UTC|GMT|UT)?[+-](?:(?:1[0-4]|0\d)(?::?[0-5]\d)?|\d(?::[0-5]\d)?)|UTC|GMT|UT"
    r"|[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z0-9_+-]*){1,2})(?:\[[A-Za-z0-9_/+-]+\])?)?(?![\s\S])"
)
"""Day, time of day, fraction and zone, for Java and Python: groups 1, 3, 4; 5; 6; 7. Three letters such as CST are of
several zones, a place in brackets after an offset only repeats it. Seconds must be there. `$` would let a line end
follow in Java."""

_FORM = re.compile(FORM, re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d?):?(\d\d)?", re.ASCII)


def lacks_zone(text: str) -> bool:
    """Whether the text is a time without a zone.

    >>> lacks_zone("2026-11-21 08:26:00,123"), lacks_zone("2026-11-21 08:26:00 +0800"), lacks_zone("soon")
    (True, False, False)
    """
    found = _FORM.match(text)
    return bool(found) and not found[7]  # type: ignore[index]


def plain_written_ms(text: str, time_zone: str | None = None) -> int | None:
    """`udfs.written_time.written_ms` for one text; None for no time.

    >>> plain_written_ms("2026-11-21T08:26:51.006+08:00"), plain_written_ms("2026-11-21 08:26:51,006", "Asia/Shanghai")
    (1795220811006, 1795220811006)
    >>> plain_written_ms("2026-11-21 08:26:51 CST"), plain_written_ms("2026-02-30 08:26:51Z")
    (None, None)
    """
    found = _FORM.match(text)
    if not found:
        return None
    year, _, month, day, time_of_day, fraction, zone = found.groups()
    try:
        local = dt.datetime.fromisoformat(f"{year}-{month}-{day}T{time_of_day}")
        instant = local.replace(tzinfo=_zone(zone or time_zone or "Z"))
    except (ValueError, KeyError, OSError):  # no such day, no such place
        return None
    return round((instant - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)).total_seconds()) * 1000 + int(
        (fraction or "0")[:3].ljust(3, "0")
    )


def _zone(text: str) -> dt.tzinfo:
    if offset := _OFFSET.fullmatch(text):
        sign, hours, minutes = offset.groups()
        return dt.timezone((-1 if sign == "-" else 1) * dt.timedelta(hours=int(hours), minutes=int(minutes or 0)))
    return dt.UTC if text in ("Z", "z", "UTC", "GMT", "UT") else ZoneInfo(text)
