"""Lines of `rocketmq_client.log` about fault items, which clients write from 5.1.4 on.

`LatencyFaultToleranceImpl` and its `FaultItem`, by the logger of `MQFaultStrategy`; 5.1.4 to 5.5.0 write the same.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.client_log import INSTANCE_PATTERN

# Lengths are bounded: a pattern that may start at each character and run to the end is quadratic in the line.
_BROKER = r"^(\S.{0,511}?)"
_PATTERNS = {
    "ISOLATED": _BROKER + r" will be isolated for (\d{1,18}) ms\.$",
    "UNREACHABLE": _BROKER + r" is unreachable, it will not be used until it's reachable$",
    "REACHABLE": _BROKER + r" is reachable now, then it can be used\.$",
    "INSTANCE": INSTANCE_PATTERN,
}
_OF_AN_ITEM = r" will be isolated for | is unreachable, it will not | is reachable now, then "
_ANY = rf"{_OF_AN_ITEM}|^Created a new client Instance,"
_CLIENT_VERSION = r", ClientVersion:V(\d{1,3})_(\d{1,3})_(\d{1,3})\b"

EVENTS = tuple(_PATTERNS)


def fault_item_message(message: Column) -> Column:
    """The message where it may be about a fault item or a client of the process, else null."""
    return F.when(message.rlike(_ANY), message)


def fault_item_event(message: Column) -> Column:
    """One of `EVENTS`, null for other messages.

    ISOLATED: an update set a later end; others are not logged. UNREACHABLE: an update passed a false flag,
    even if it was false before. REACHABLE: the detector set the flag again. INSTANCE: a client id of this process.
    """
    return F.coalesce(*(F.when(message.rlike(pattern), F.lit(event)) for event, pattern in _PATTERNS.items()))


def is_broken_off(message: Column, event: Column) -> Column:
    """Whether the message is about a fault item, but is truncated or runs into another one."""
    return event.isNull() & message.rlike(_OF_AN_ITEM)


def fault_item_fields(message: Column, event: Column) -> dict[str, Column]:
    """Fields of the message, null where it has none.

    `broker_name`; `not_available_ms` of ISOLATED; `client_id` and `client_version` (such as 5.3.3) of INSTANCE.
    """

    def group(of: str, number: int) -> Column:
        return F.when(event == of, F.regexp_extract(message, _PATTERNS[of], number))

    numbers = [F.regexp_extract(message, _CLIENT_VERSION, part) for part in (1, 2, 3)]
    return {
        "broker_name": F.coalesce(*(group(of, 1) for of in ("ISOLATED", "UNREACHABLE", "REACHABLE"))),
        "not_available_ms": group("ISOLATED", 2).try_cast("bigint"),
        "client_id": group("INSTANCE", 2),
        "client_version": F.when((event == "INSTANCE") & message.rlike(_CLIENT_VERSION), F.concat_ws(".", *numbers)),
    }
