"""Values for people to read, in a terminal and on the page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from jobs.tables.day import DAY_MS
from jobs.text.terminal import one_line, safe

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_UNTIL = ("end_ms", "until_ms")
_INSTANTS = (*_UNTIL, "settled_ms", "start_ms", "from_ms", "last_bad_ms", "_at_ms")
NOTHING = "–"


def clock_time(epoch_ms: int, *, with_day: bool = False) -> str:
    """An instant in UTC, to the millisecond.

    >>> clock_time(1_795_219_611_042), clock_time(1_795_219_611_042, with_day=True)
    ('00:06:51.042', '2026-11-21 00:06:51.042')
    """
    at = _EPOCH + dt.timedelta(milliseconds=epoch_ms)
    text = at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return text if with_day else text[11:]


def safe_cell(column: str, value: object, *, with_day: bool = False) -> str:
    """A cell of a table as text, with control characters escaped; null is a dash.

    >>> safe_cell("start_ms", 1_795_219_611_042), safe_cell("lost", 1200), safe_cell("left", ["a", "b"])
    ('00:06:51.042', '1,200', 'a, b')
    """
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case int() if column.endswith(_INSTANTS):
            ends_day = column.endswith(_UNTIL) and not value % DAY_MS and not with_day
            return "24:00:00.000" if ends_day else clock_time(value, with_day=with_day)
        case int():
            return f"{value:,}"
        case list():
            return one_line(", ".join(safe(str(part)) for part in value)) or NOTHING
        case _:
            return one_line(str(value)) if column == "sentence" else safe(str(value))


def percent(part: float, whole: float) -> str:
    """A share in percent; as many digits as it needs.

    >>> percent(1, 2), percent(1, 3000), percent(0, 0)
    ('50 %', '0.033 %', '0 %')
    """
    if not part or not whole:
        return "0 %"
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 10 or share == round(share) else f"{share:.2g} %"


def unsure_text(days: Sequence[dt.date]) -> str | None:
    """A sentence about days whose last run did not succeed; None without such a day.

    >>> unsure_text([dt.date(2026, 11, 21)])
    'the last run of 2026-11-21 has not succeeded: its tables may not fit together; run it again'
    """
    if not days:
        return None
    return (
        f"the last run of {', '.join(map(str, days))} has not succeeded: its tables may not fit together; run it again"
    )


def sentence(words: str) -> str:
    """Words as a sentence.

    >>> sentence("no send log was given")
    'No send log was given.'
    """
    return f"{words[0].upper()}{words[1:]}."
