"""Layouts of log lines: what clients, and the logging of the applications around them, write before each message.

Lengths are bounded: a pattern that may start at each character and run to the end is quadratic in the line.
"""

from __future__ import annotations

import re
from collections import defaultdict

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.releases import holds
from udfs.version import version_number

_CONTAINER = r"(?:\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP] )?"  # before it, in Kubernetes
_TIME = (
    r"\[?(?<date>\d{4}[-/]\d\d[-/]\d\d)[ T](?<clock>\d\d:\d\d:\d\d)(?:(?<point>[.,])(?<millis>\d{3})\d{0,6})?"
    r"(?: ?(?<offset>(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?|Z|UTC|GMT))?\]?"
)
_GAP = r"(?:[ \t]{1,64}|[ \t]?\|[ \t]?)"
_LEVEL = r"\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)[ \t]{0,2}\]?"
_STATEMENT = r"(?:#[^\s\]]{0,128}|:\d{1,7}|\([^)\s]{0,128}\)|\[\d{1,7}\])?"  # its method or line
_LOGGER = rf"(?<logger>[A-Za-z][\w.$/-]{{0,255}}){_STATEMENT}"
# Without a dash after it: a class, and not the first word of a message.
_CLASS = rf"(?<logger>(?!Created a new )(?:[A-Z][\w$]{{0,255}}|[\w$]{{1,64}}(?:\.[\w$]{{1,64}}){{1,16}})){_STATEMENT}"
_THREAD = rf"\[[^\[\]]{{0,256}}\](?:{_GAP}?\[[^\[\]]{{0,256}}\]){{0,4}}"  # and what else stands in brackets
_DASH = r"[ \t]{0,64}(?:--?|:|\||>>?)[ \t]{1,8}"
_END = rf"(?:{_DASH}|[ \t]{{1,8}})"
_LOGGER_END = rf"(?:{_GAP}{_LOGGER}{_DASH}|{_GAP}{_CLASS}[ \t]{{1,8}}|{_END})"

_LAYOUTS = (
    # rmq.client.logback.xml of 5.1.0 to 5.5.0: `%d{yyy-MM-dd HH:mm:ss.SSS,GMT+8} %-5p [%pid] [%t] [%logger{12}#%M:%L]`.
    (
        rf"{_TIME} (?<own>{_LEVEL}) {{1,2}}\[(?<pid>\d{{1,10}})\] \[.{{0,256}}?\]"
        r" \[(?<logger>[\w.$]{1,256})#[^\s\]]{0,128}\] - "
    ),
    # Spring Boot: `INFO 23 --- [  main] o.a.r.Client  : …`; from 3.4 on with more brackets.
    rf"{_TIME}{_GAP}{_LEVEL}{_GAP}(?<pid>\d{{0,10}}){_GAP}?---{_GAP}{_THREAD}{_GAP}{_LOGGER}[ \t]{{0,64}}: ",
    # `INFO [main:RocketmqClient] …`
    rf"{_TIME}{_GAP}{_LEVEL}{_GAP}\[[^\[\]]{{0,256}}?:{_LOGGER}\]{_END}",
    # `INFO [main] RocketmqClient:95 - …`
    rf"{_TIME}{_GAP}{_LEVEL}{_GAP}{_THREAD}{_LOGGER_END}",
    # logback: `[main] INFO  RocketmqClient - …`
    rf"{_TIME}{_GAP}{_THREAD}{_GAP}{_LEVEL}{_LOGGER_END}",
    # `INFO RocketmqClient [main] - …`
    rf"{_TIME}{_GAP}{_LEVEL}{_GAP}{_LOGGER}{_GAP}{_THREAD}{_END}",
    # LoggingBuilder's DefaultLayout of 4.3.0 to 5.0.0, and log4j's `%p %c{1}(%L) - `: `INFO RocketmqClient - …`
    rf"{_TIME}{_GAP}{_LEVEL}{_GAP}{_LOGGER}{_DASH}",
    # `INFO main RocketmqClient - …`
    rf"{_TIME}{_GAP}{_LEVEL}{_GAP}[^\s\[\]|]{{1,128}}{_GAP}{_LOGGER}{_DASH}",
    # `main INFO RocketmqClient - …`, `RocketmqClient [main] INFO - …`
    (
        rf"{_TIME}{_GAP}(?:{_THREAD}{_GAP})?[^\s\[\]|]{{1,256}}{_GAP}(?:{_THREAD}{_GAP})?{_LEVEL}(?:{_GAP}{_THREAD})?"
        rf"{_LOGGER_END}"
    ),
    rf"{_TIME}{_GAP}{_LEVEL}{_LOGGER_END}",
    # The level before the time.
    rf"{_LEVEL}{_GAP}{_TIME}(?:{_GAP}{_THREAD})?{_LOGGER_END}",
)
"""Known layouts, the first that fits counts. `own` is there in the one that RocketMQ 5.1 on writes in any place."""

_PARTS = ("own", "date", "clock", "point", "millis", "offset", "pid", "logger", "message")
_MARK = "\x01"
_ENTRY_LIKE = (
    rf"^{_CONTAINER}(?!\s|at |Caused by: |Suppressed: |\.\.\. )"
    r".{0,80}?(?:\d\d:\d\d:\d\d|\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)"
)
_OWN_OFFSET_MS, _MS_PER_MINUTE = 28_800_000, 60_000  # GMT+8


def _numbered(pattern: str) -> tuple[str, dict[str, list[str]]]:
    """The pattern with each of its named groups under a name of its own, and these by the name before."""
    names: defaultdict[str, list[str]] = defaultdict(list)

    def own_name(group: re.Match[str]) -> str:
        names[group[1]].append(f"{group[1]}{len(names[group[1]])}")
        return f"(?<{names[group[1]][-1]}>"

    return re.sub(r"\(\?<([a-z]+)>", own_name, pattern), names


_HEAD, _NAMES = _numbered(rf"(?s)^{_CONTAINER}(?:{'|'.join(_LAYOUTS)})(?<message>.*)$")
_APART = "".join(_MARK + "".join(f"${{{name}}}" for name in _NAMES[part]) for part in _PARTS)


def head_of(raw: Column) -> Column:
    """What stands before a line's message, and the message, for `part_of`; null where no known layout fits."""
    apart = F.regexp_replace(raw, _HEAD, _APART)
    is_apart = apart.startswith(_MARK) & ~raw.startswith(_MARK)
    return F.when(is_apart, F.split(apart, _MARK, len(_PARTS) + 1))


def part_of(head: Column, part: str) -> Column:
    """One of `_PARTS` as text; empty where the layout does not write it."""
    return F.get(head, F.lit(_PARTS.index(part) + 1))


def looks_like_an_entry(raw: Column) -> Column:
    """Whether a line without a known head may have one that is not known: a time of day or a level stands early in it.

    The others go on with the line before, such as stack traces.
    """
    return raw.rlike(_ENTRY_LIKE)


def is_of_another_logger(head: Column) -> Column:
    """Whether the line's logger is an application's own, or a library's; false where the layout writes none."""
    logger = part_of(head, "logger")
    return (logger != "") & ~logger.rlike(r"(?i)rocketmq|^o\.a\.r\.")


def has_own_zone(head: Column) -> Column:
    """Whether the line says its zone: by an offset, or by the layout of 5.1 on, which is in GMT+8 wherever it runs."""
    return (part_of(head, "own") != "") | (part_of(head, "offset") != "")


def logged_at_ms(head: Column, client_version: Column, time_zone: Column) -> Column:
    """Epoch ms of the line; null when there is no such date.

    In the zone that the line says, else in `time_zone` (null = UTC). Of a line without milliseconds, and of the layout
    of 4.3.0 to 4.7.1 (by `client_version`), which writes the seconds again in their place, the middle of the second.
    """
    clock, millis = part_of(head, "clock"), part_of(head, "millis")
    date = F.replace(part_of(head, "date"), F.lit("/"), F.lit("-"))
    local = F.try_to_timestamp(F.concat(date, F.lit(" "), clock), F.lit("yyyy-MM-dd HH:mm:ss"))
    local_ms = F.unix_millis(local)
    in_zone = F.unix_millis(F.to_utc_timestamp(local, F.coalesce(time_zone, F.lit("UTC"))))
    at_ms = (
        F.when(part_of(head, "own") != "", local_ms - _OWN_OFFSET_MS)
        .when(part_of(head, "offset") != "", local_ms - _offset_ms(part_of(head, "offset")))
        .otherwise(in_zone)
    )
    repeats = F.coalesce(holds("log_repeats_seconds", version_number(client_version)), F.lit(False))
    are_seconds = (part_of(head, "point") == ",") & (millis == F.concat(F.lit("0"), F.right(clock, F.lit(2))))
    return at_ms + F.when((millis == "") | (repeats & are_seconds), F.lit(500)).otherwise(millis.try_cast("bigint"))


def _offset_ms(offset: Column) -> Column:
    """Of `+08:00`, `GMT-0530`, `+08`, `UTC` or `Z`."""
    digits = F.regexp_replace(offset, "[^0-9]", "")

    def number(place: int) -> Column:
        return F.coalesce(F.substring(digits, place, 2).try_cast("bigint"), F.lit(0))

    minutes = number(1) * 60 + number(3)
    return F.when(offset.contains("-"), -minutes).otherwise(minutes) * _MS_PER_MINUTE
