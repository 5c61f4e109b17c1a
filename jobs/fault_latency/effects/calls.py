"""Sends as their callers saw them: the attempts of one invoke id together."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.keys import PROCESS
from jobs.fault_latency.producers.processes import process
from udfs.choice import began_at_ms, is_bad
from udfs.outcome import is_answer
from udfs.plain_outcome import ANSWERS


def calls_of_several_attempts(attempts: DataFrame, sends: DataFrame, slow_ms: int) -> DataFrame:
    """CALLS_OF_SEVERAL: the sends with several attempts in the log, which are few.

    A client sends again only after an attempt that was not SEND_OK (`DefaultMQProducerImpl.sendDefaultImpl`), so
    attempts of one id that were all SEND_OK are sends of their own.

    Args:
        attempts: every attempt of the day.
        sends: the published attempts of the day; Spark knows how few of them are not SEND_OK.
        slow_ms: an answer this late counts as slow.
    """
    not_ok = sends.where("invoke_id IS NOT NULL AND outcome NOT IN ('SEND_OK', 'SENT')")
    not_ok = not_ok.withColumn("process", process()).transform(with_send).select("send").distinct()
    candidates = attempts.where("invoke_id IS NOT NULL").transform(with_send).join(not_ok, "send", "left_semi")
    # Most candidates are sends of one failed attempt.
    return _together(candidates).where("tries > 1").transform(_judged, slow_ms)


def calls_of_one_attempt(attempts: DataFrame, calls_of_several: DataFrame, slow_ms: int) -> DataFrame:
    """Those of the attempts that are a send of their own, as their callers saw them.

    Grain: `cluster`, `client_id`, `producer_group`, `row_hash`; the columns of CALLS_OF_SEVERAL. An attempt without an
    invoke id is a send of its own.

    Args:
        attempts: some attempts of the day.
        calls_of_several: CALLS_OF_SEVERAL.
        slow_ms: an answer this late counts as slow.
    """
    calls = alone(attempts, calls_of_several).select(
        *PROCESS,
        "send",
        *(column.alias(name) for name, column in _of_send().items()),
        "invoke_id",
        # A clock that was set back may end a send before its start.
        F.least("chosen_at_ms", "ended_at_ms").alias("started_ms"),
        F.col("ended_at_ms").alias("ended_ms"),
        F.lit(1).alias("attempts"),
        F.lit(1).alias("tries"),
        _brokers(F.col("broker_name"), F.col("result_broker_name")).alias("broker_names"),
        "outcome",
        "row_hash",
        F.col("outcome").alias("first_outcome"),
        F.col("latency_ms").alias("first_latency_ms"),
    )
    return _judged(calls, slow_ms)


def alone(attempts: DataFrame, calls_of_several: DataFrame) -> DataFrame:
    """Those of the attempts that are a send of their own, with `send` and `chosen_at_ms`.

    Args:
        attempts: some attempts of the day, with `process`.
        calls_of_several: CALLS_OF_SEVERAL.
    """
    return attempts.transform(with_send).join(calls_of_several.select("send"), "send", "left_anti")


def with_send(attempts: DataFrame) -> DataFrame:
    """With `send`, the invocation as one number (null = not logged), and `chosen_at_ms`."""
    send = F.when(F.col("invoke_id").isNotNull(), F.xxhash64(*PROCESS, "invoke_id"))
    return attempts.withColumns({"chosen_at_ms": began_at_ms(), "send": send})


def is_troubled() -> Column:
    """The send failed, was retried, or was slow."""
    return F.col("failed") | F.col("retried") | F.col("slow")


def _judged(calls: DataFrame, slow_ms: int) -> DataFrame:
    total_ms = F.col("ended_ms") - F.col("started_ms")
    return calls.withColumns(
        {
            "total_ms": total_ms,
            "failed": ~is_answer(F.col("outcome")),
            "retried": (F.col("attempts") > 1) | (F.size("broker_names") > F.col("tries")),
            "slow": F.col("outcome").isin(*ANSWERS) & (total_ms >= slow_ms),
            "is_bad_first": is_bad(F.col("first_outcome"), F.col("first_latency_ms"), slow_ms),
        }
    ).drop("tries", "first_outcome", "first_latency_ms")


def _together(attempts: DataFrame) -> DataFrame:
    """Sends of several attempts, from these in their total order."""
    tried = F.struct(
        "ended_at_ms",
        F.col("seq").isNull().alias("has_no_seq"),
        "seq",
        "chosen_at_ms",
        "attempt",
        "row_hash",
        "broker_name",
        "result_broker_name",
        "latency_ms",
        "outcome",
        *(column.alias(name) for name, column in _of_send().items()),
    )
    calls = attempts.groupBy(*PROCESS, "send", "invoke_id").agg(F.array_sort(F.collect_list(tried)).alias("tries"))
    first, last = F.get("tries", F.lit(0)), F.element_at("tries", -1)
    brokers = F.flatten(
        F.transform("tries", lambda attempt: _brokers(attempt["broker_name"], attempt["result_broker_name"]))
    )
    numbers = F.array_distinct(
        F.transform("tries", lambda attempt: F.coalesce(attempt["attempt"], attempt["row_hash"]))
    )
    return calls.select(
        *PROCESS,
        "send",
        *(first[name].alias(name) for name in _of_send()),
        "invoke_id",
        F.least(F.array_min(F.col("tries")["chosen_at_ms"]), last["ended_at_ms"]).alias("started_ms"),
        last["ended_at_ms"].alias("ended_ms"),
        F.size(numbers).alias("attempts"),
        F.size("tries").alias("tries"),
        brokers.alias("broker_names"),
        last["outcome"].alias("outcome"),
        first["row_hash"].alias("row_hash"),
        first["outcome"].alias("first_outcome"),
        first["latency_ms"].alias("first_latency_ms"),
    )


def _of_send() -> dict[str, Column]:
    """The columns that the attempts of a send share."""
    return {
        "client_version": F.col("version"),
        **{name: F.col(name) for name in ("enforced", "topic", "mode", "by_caller")},
        "is_replayed": F.col("not_replayed").isNull(),
    }


def _brokers(broker_name: Column, result_broker_name: Column) -> Column:
    """The broker that was tried, and the one that answered if it differs."""
    both = F.array(broker_name, result_broker_name)
    return F.when(result_broker_name != broker_name, both).otherwise(F.array(broker_name))
