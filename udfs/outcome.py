"""Outcomes of send attempts, and their effect on the fault item: none, a latency, or a failure.

Read from `DefaultMQProducerImpl.sendDefaultImpl` (4.0.0:460-514, 4.9.4:577-625, 5.1.4:741-799, 5.3.3:791-849) and
`MQClientAPIImpl.sendMessageAsync` (4.0.0:378-403, 4.9.4:540-606, 5.1.4:669-714, 5.3.3:604-675).
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.plain_outcome import ANSWERS, EXCEPTION, REMOTING, SENT

_NO_TIME_MS = 50


def is_known_outcome(outcome: Column) -> Column:
    """A SendStatus, SENT, or a text that can be the simple class name of an exception."""
    return outcome.isin(*ANSWERS, SENT) | outcome.rlike(EXCEPTION)


def is_answer(outcome: Column) -> Column:
    """The send returned: answered, or handed over one-way."""
    return outcome.isin(*ANSWERS, SENT)


def effective_outcome(mode: Column, outcome: Column, cause: Column) -> Column:
    """The outcome that the fault item gets: for an async MQClientException its cause.

    From 5.2.0 `MQClientAPIImpl.operationFail` hands the callback an MQClientException around the Remoting
    exception that isolated the broker.

    Examples:
        >>> rows = [("ASYNC", "MQClientException", "RemotingTimeoutException"), ("SYNC", "MQClientException", None)]
        >>> frame = spark.createDataFrame(rows, "mode string, outcome string, cause string")
        >>> frame.select(effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause")).alias("seen")).show()
        +--------------------+
        |                seen|
        +--------------------+
        |RemotingTimeoutEx...|
        |   MQClientException|
        +--------------------+
        <BLANKLINE>
    """
    wrapped = (mode == "ASYNC") & (outcome == "MQClientException") & cause.isNotNull()
    return F.when(wrapped, cause).otherwise(outcome)


def counts_with_latency(outcome: Column, not_exist_isolates: Column) -> Column:
    """A direct (sync or one-way) attempt updates its item with the measured latency.

    An InterruptedException does so in every release; an MQClientException from 5.1.4 on.
    """
    return (
        is_answer(outcome)
        | (outcome == "InterruptedException")
        | ((outcome == "MQClientException") & ~not_exist_isolates)
    )


def counts_as_failure(outcome: Column, not_exist_isolates: Column) -> Column:
    """A direct (sync or one-way) attempt isolates its broker with the profile's constant."""
    return outcome.isin(*REMOTING, "MQBrokerException") | ((outcome == "MQClientException") & not_exist_isolates)


def may_write(outcome: Column) -> Column:
    """A direct attempt with this outcome updates its item under at least one policy."""
    return counts_with_latency(outcome, F.lit(False)) | counts_as_failure(outcome, F.lit(True))


def leaves_reachable(outcome: Column, detector_enabled: Column) -> Column:
    """The reachable flag that a direct attempt writes (5.1.4 and later).

    False after an MQBrokerException always, after a Remoting exception only with the detector on
    (5.1.4 `DefaultMQProducerImpl`:753-790).
    """
    remoting = outcome.isin(*REMOTING)
    return ~((outcome == "MQBrokerException") | (remoting & detector_enabled))


def hides_a_wait(latency_ms: Column, call_timeout_ms: Column) -> Column:
    """The line is a call of `send()` that took its time-out or longer: whom it waited for, the line does not say.

    Its time is that of all its tries, and a first broker that does not answer takes the time-out: of one try up to
    4.2.0, of all of them from 4.3.0 (`DefaultMQProducerImpl.sendDefaultImpl`, `costTime`).

    Args:
        latency_ms: of the line.
        call_timeout_ms: the time-out; null = the line is an attempt.

    Examples:
        >>> frame = spark.createDataFrame([(2999, 3000), (3000, 3000), (9000, None)], "took bigint, timeout bigint")
        >>> frame.select(hides_a_wait(F.col("took"), F.col("timeout")).alias("hides")).collect()
        [Row(hides=False), Row(hides=True), Row(hides=False)]
    """
    return F.coalesce(latency_ms >= call_timeout_ms, F.lit(False))


def is_out_of_time(outcome: Column, latency_ms: Column) -> Column:
    """The attempt ended before any broker could have answered: earlier tries had used up the time-out.

    From 4.3.0 the time-out is one budget for all tries (`DefaultMQProducerImpl.sendDefaultImpl`, `costTime`).
    """
    return outcome.isin("RemotingTimeoutException", "RemotingTooMuchRequestException") & (latency_ms <= _NO_TIME_MS)
