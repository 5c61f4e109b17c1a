"""What an attempt says of its broker: that it was in trouble, and how."""

from __future__ import annotations

from enum import StrEnum

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.outcome import is_answer, is_out_of_time
from udfs.plain_outcome import ANSWERS, REMOTING

_SYSTEM_BUSY = 2
"""`RemotingSysResponseCode.SYSTEM_BUSY`; a broker's flow control answers with it."""


class Trouble(StrEnum):
    """How a broker was in trouble."""

    REFUSED = "REFUSED"
    """No connection, or the broker took no messages."""
    TIMED_OUT = "TIMED_OUT"
    BUSY = "BUSY"
    SLOW = "SLOW"
    MIXED = "MIXED"


def trouble(outcome: Column, response_code: Column, latency_ms: Column, slow_ms: int) -> Column:
    """How the attempt shows its broker in trouble; null when it does not.

    An attempt without time left, and one that the client ended by itself, say nothing about the broker.

    Args:
        outcome: the effective outcome.
        response_code: of the broker; null = none.
        latency_ms: of the attempt.
        slow_ms: an answer this late counts as slow.

    Examples:
        >>> rows = [("RemotingConnectException", None, 1), ("RemotingTimeoutException", None, 3000)]
        >>> rows += [("RemotingTimeoutException", None, 0), ("MQBrokerException", 2, 4), ("MQBrokerException", 16, 4)]
        >>> rows += [("SEND_OK", None, 549), ("SEND_OK", None, 550), ("SENT", None, 900)]
        >>> rows += [("MQClientException", None, 9)]
        >>> frame = spark.createDataFrame(rows, "outcome string, code int, took bigint")
        >>> [row[0] for row in frame.select(trouble(F.col("outcome"), F.col("code"), F.col("took"), 550)).collect()]
        ['REFUSED', 'TIMED_OUT', None, 'BUSY', 'REFUSED', None, 'SLOW', None, None]
    """
    timed_out = outcome.isin("RemotingTimeoutException", "RemotingTooMuchRequestException")
    return (
        F.when(is_out_of_time(outcome, latency_ms), None)
        .when(timed_out, Trouble.TIMED_OUT)
        .when((outcome == "MQBrokerException") & (response_code == _SYSTEM_BUSY), Trouble.BUSY)
        .when(outcome.isin(*REMOTING, "MQBrokerException"), Trouble.REFUSED)
        .when(is_answer(outcome) & outcome.isin(*ANSWERS) & (latency_ms >= slow_ms), Trouble.SLOW)
    )
