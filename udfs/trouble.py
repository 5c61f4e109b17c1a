"""What an attempt says of its broker: that it was in trouble, and how."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.outcome import hides_a_wait, is_out_of_time
from udfs.plain_outcome import ANSWERS, REMOTING

_SYSTEM_BUSY = 2
"""`RemotingSysResponseCode.SYSTEM_BUSY`; a broker's flow control answers with it."""
_OF_THE_MESSAGE = (13, 17)
"""`ResponseCode`: MESSAGE_ILLEGAL, TOPIC_NOT_EXIST."""


def trouble(slow_ms: int) -> Column:
    """How the attempt of the row shows its broker in trouble, an `EventKind`; null when it does not.

    An attempt without time left, one that the client ended by itself, and one whose message the broker rejects say
    nothing about the broker; a call that took its time-out does not say which broker it waited for.

    Args:
        slow_ms: an answer this late counts as slow.

    Examples:
        >>> rows = [("RemotingConnectException", None, 1), ("RemotingTimeoutException", None, 3000)]
        >>> rows += [("RemotingTimeoutException", None, 0), ("MQBrokerException", 2, 4), ("MQBrokerException", 16, 4)]
        >>> rows += [("SEND_OK", None, 549), ("SEND_OK", None, 550), ("SENT", None, 900)]
        >>> rows += [("MQClientException", None, 9), ("MQBrokerException", 13, 4)]
        >>> frame = spark.createDataFrame(rows, "effective_outcome string, response_code int, latency_ms bigint")
        >>> frame = frame.withColumns(
        ...     {"call_timeout_ms": F.lit(None), "result_broker_name": F.lit(None), "broker_name": F.lit("a")}
        ... )
        >>> [row[0] for row in frame.select(trouble(550)).collect()]
        ['REFUSED', 'TIMED_OUT', None, 'BUSY', 'REFUSED', None, 'SLOW', None, None, None]
    """
    outcome, latency_ms, code = F.col("effective_outcome"), F.col("latency_ms"), F.col("response_code")
    timed_out = outcome.isin("RemotingTimeoutException", "RemotingTooMuchRequestException")
    by_broker = outcome == "MQBrokerException"
    says_nothing = is_out_of_time(outcome, latency_ms) | hides_a_wait(latency_ms, F.col("call_timeout_ms"))
    return (
        F.when(says_nothing | F.coalesce(by_broker & code.isin(*_OF_THE_MESSAGE), F.lit(False)), None)
        .when(timed_out, "TIMED_OUT")
        .when(by_broker & (code == _SYSTEM_BUSY), "BUSY")
        .when(outcome.isin(*REMOTING, "MQBrokerException"), "REFUSED")
        .when(answered_by_another(), "MIXED")
        .when(outcome.isin(*ANSWERS) & (latency_ms >= slow_ms), "SLOW")
    )


def answered_by_another() -> Column:
    """The line is of an async send whose tries another broker answered: how the one addressed failed is not known."""
    return F.coalesce(F.col("result_broker_name") != F.col("broker_name"), F.lit(False))
