"""The fault item over time, as Column expressions over framed windows.

One row is one write to a fault item (`updateFaultItem`, `remove`, or the state carried over midnight), in the
order of the client. `so_far` frames are `rowsBetween(unboundedPreceding, currentRow)` over a total order;
a `tie` is a run of writes whose order the log does not show.

Sources: RocketMQ `latency/LatencyFaultToleranceImpl`: 4.9.8 lines 33-49 and 83-95 (last write wins), 5.1.4 lines
100-120 and 199-204 (running maximum; `reachable` gates), 5.2.0 line 241 (`reachable` no longer gates).
"""

from __future__ import annotations

from pyspark.sql import Column, WindowSpec
from pyspark.sql import functions as F

FAR_MS = 253_402_300_799_999
"""9999-12-31: the end of an isolation that only a reachable flag ends."""


def life(begins: Column, so_far: WindowSpec) -> Column:
    """Number of lives of the item so far.

    One begins after a remove, as the next update creates a new fault item, and with a recorded write, which has the
    item's state regardless of earlier writes.
    """
    return F.sum(begins.cast("int")).over(so_far)


def written_until_ms(at_ms: Column, not_available_ms: Column, is_remove: Column, carried_until_ms: Column) -> Column:
    """The time at which the item is available again by this write alone; 0 after a remove."""
    return F.when(is_remove, F.lit(0)).otherwise(F.coalesce(carried_until_ms, at_ms + not_available_ms))


def available_at_ms(
    written_until: Column,
    not_available_ms: Column,
    is_absolute: Column,
    keeps_latest: Column,
    item_life: Column,
    so_far: WindowSpec,
) -> Column:
    """The window of the fault item after this write: available at this time or later.

    Last write wins up to 5.1.3. From 5.1.4 only a write with an isolation above 0 counts, and the latest end
    within the item's life stays; an item without one is available from 0.
    """
    counts = (not_available_ms > 0) | is_absolute
    latest = F.max(F.struct(item_life, F.when(counts, written_until).otherwise(F.lit(0)).alias("until"))).over(so_far)
    return F.when(keeps_latest, latest["until"]).otherwise(written_until)


def reachable(written_reachable: Column, is_remove: Column, so_far: WindowSpec) -> Column:
    """The reachable flag after this write; a write without one keeps it, a new item starts true."""
    flag = F.when(is_remove, F.lit(True)).otherwise(written_reachable)
    return F.coalesce(F.last(flag, ignorenulls=True).over(so_far), F.lit(True))


def not_available_until_ms(available_at: Column, is_reachable: Column, gated: Column) -> Column:
    """`isAvailable` is false before this time: the window's end, or never ending while the flag gates."""
    return F.when(gated & ~is_reachable, F.lit(FAR_MS)).otherwise(available_at)


def tie(
    at_ms: Column, is_carried: Column, unordered_within_ms: int, in_order: WindowSpec, so_far: WindowSpec
) -> Column:
    """Number that consecutive writes share while each follows the one before within `unordered_within_ms`.

    A write carried over midnight was made in the last millisecond of the day before at the latest: a write at
    00:00:00.000 may tie with it (a submit call that returned before midnight counts then, too), one
    at 00:00:00.001 does not.
    """
    written_at_ms = F.when(is_carried, at_ms - 1).otherwise(at_ms)
    apart = at_ms - F.lag(written_at_ms).over(in_order) > unordered_within_ms
    return F.sum(F.coalesce(apart.cast("int"), F.lit(0))).over(so_far)


def earliest_until_ms(
    until: Column,
    available_at: Column,
    is_reachable: Column,
    keeps_latest: Column,
    gated: Column,
    tied: Column,
    so_far: WindowSpec,
) -> Column:
    """The earliest `not_available_until_ms` that any order of the tied writes leaves, at the last of them.

    Under last-write-wins any of them may be the last. A running maximum does not depend on the order, but the
    reachable flag does.
    """
    any_reachable = _highest_of_tie(is_reachable.cast("int"), tied, so_far) == 1
    of_max = F.when(gated & ~any_reachable, F.lit(FAR_MS)).otherwise(available_at)
    return F.when(keeps_latest, of_max).otherwise(-_highest_of_tie(-until, tied, so_far))


def latest_until_ms(
    until: Column,
    available_at: Column,
    is_reachable: Column,
    keeps_latest: Column,
    gated: Column,
    tied: Column,
    so_far: WindowSpec,
) -> Column:
    """The latest `not_available_until_ms` that any order of the tied writes leaves, at the last of them."""
    any_unreachable = _highest_of_tie((~is_reachable).cast("int"), tied, so_far) == 1
    of_max = F.when(gated & any_unreachable, F.lit(FAR_MS)).otherwise(available_at)
    return F.when(keeps_latest, of_max).otherwise(_highest_of_tie(until, tied, so_far))


def _highest_of_tie(value: Column, tied: Column, so_far: WindowSpec) -> Column:
    """Highest value among the writes of the current tie so far: ties only grow, so a running maximum is enough."""
    return F.max(F.struct(tied.alias("tie"), value.alias("value"))).over(so_far)["value"]
