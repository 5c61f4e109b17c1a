"""Names of time zones in settings."""

from __future__ import annotations

from zoneinfo import available_timezones

from jobs.errors import SettingValueError

_NO_PLACES = {"Factory", "localtime"}
"""Names in Python's list of time zones that stand for no place."""


def check_time_zone(name: str | None) -> None:
    """Refuse a zone that nobody knows.

    Raises:
        SettingValueError: it is.
    """
    if name is not None and name not in available_timezones() - _NO_PLACES:
        raise SettingValueError(f"time_zone {name!r} is unknown; give a name such as Asia/Shanghai or UTC")
