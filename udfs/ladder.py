"""The ladder: how long a latency isolates a broker (`MQFaultStrategy.computeNotAvailableDuration`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True)
class Ladder:
    """The two arrays of `setLatencyMax` and `setNotAvailableDuration`.

    The client does not check their lengths. Isolations beyond the last floor are never used; a latency that reaches a
    floor beyond the last isolation throws an ArrayIndexOutOfBoundsException out of `send`, and nothing is updated.

    Attributes:
        floors_ms: `latencyMax`; need not rise.
        isolations_ms: `notAvailableDuration`; need not rise.
    """

    floors_ms: tuple[int, ...]
    isolations_ms: tuple[int, ...]

    @property
    def longest_ms(self) -> int:
        """The longest isolation in it."""
        return max(self.isolations_ms[: len(self.floors_ms)], default=0)

    @property
    def lowest_ms(self) -> int:
        """The lowest latency that isolates, or makes the client fail.

        >>> Ladder((50, 100, 550), (0, 0, 30000)).lowest_ms, Ladder((50, 100), (0,)).lowest_ms, Ladder((), ()).lowest_ms
        (550, 100, 0)
        """
        return min((floor for floor, isolation in self.rungs if isolation != 0), default=0)

    @property
    def is_even(self) -> bool:
        """One isolation per floor."""
        return len(self.floors_ms) == len(self.isolations_ms)

    @property
    def rungs(self) -> tuple[tuple[int, int | None], ...]:
        """Floor and isolation in the order in which the client scans them, from the last; null = it has none."""
        return tuple(reversed(list(zip_longest(self.floors_ms, self.isolations_ms[: len(self.floors_ms)]))))


def isolation_ms(latency_ms: Column, ladder: Ladder) -> Column:
    """Isolation that an update with this latency earns, in ms.

    The arrays are scanned from the last floor to the first; the first floor that the latency reaches
    (inclusive) decides. RocketMQ 4.0.0 to 5.5.0, `MQFaultStrategy.computeNotAvailableDuration`.

    Args:
        latency_ms: bigint; the constant of the profile for a failure.
        ladder: the arrays of the client.

    Returns:
        bigint, 0 below the lowest reached floor, null for a null latency and where the client fails: no update.

    Examples:
        >>> released = Ladder((50, 100, 550, 1000), (0, 0, 30000, 60000))
        >>> frame = spark.createDataFrame([(549,), (550,), (5000,), (None,)], "latency_ms bigint")
        >>> frame.select("latency_ms", isolation_ms(F.col("latency_ms"), released).alias("isolation_ms")).show()
        +----------+------------+
        |latency_ms|isolation_ms|
        +----------+------------+
        |       549|           0|
        |       550|       30000|
        |      5000|       60000|
        |      NULL|        NULL|
        +----------+------------+
        <BLANKLINE>
    """
    isolation = F.when(latency_ms.isNull(), F.lit(None))
    for floor, length in ladder.rungs:
        isolation = isolation.when(latency_ms >= floor, F.lit(length))
    return isolation.otherwise(F.lit(0)).cast("bigint")


def plain_isolation_ms(latency_ms: int, ladder: Ladder) -> int | None:
    """The same rule for one number, without Spark.

    >>> plain_isolation_ms(30000, Ladder((1, 2), (10, 20)))
    20
    >>> print(plain_isolation_ms(30000, Ladder((1, 2), (10,))))
    None
    """
    for floor, length in ladder.rungs:
        if latency_ms >= floor:
            return length
    return 0
