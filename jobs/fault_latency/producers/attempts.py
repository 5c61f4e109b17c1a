"""Attempts: published sends with their rules and process, and what other lines show of async ones."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.keys import RULED_BY, RULES
from jobs.sources.broker_addresses import with_other_port
from jobs.spark.compiled_apart import compiled_apart
from jobs.spark.no_rows import no_rows
from udfs.async_tries import failed_in_callback, is_one_try, was_retried
from udfs.broker_address import VIP_PORT_BELOW, last_address_in
from udfs.choice import began_at_ms
from udfs.outcome import effective_outcome, hides_a_wait, is_answer
from udfs.plain_outcome import REMOTING
from udfs.releases import holds

_SLOW_SUBMIT_MS = 10
"""A submit call that takes longer than this may have connected."""


def attempts_of(sends: DataFrame, sends_per_process: DataFrame) -> DataFrame:
    """Every attempt of the day: `sends` with what follows from the line and the settings.

    Adds the columns of `with_owner`, and `effective_outcome`. A call that took its time-out is not replayed.

    Args:
        sends: the published attempts of the day.
        sends_per_process: SENDS_PER_PROCESS.
    """
    outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    too_long = F.when(hides_a_wait(F.col("latency_ms"), F.col("call_timeout_ms")), "CALL_TOOK_ITS_TIMEOUT")
    not_replayed = F.coalesce("not_replayed", too_long)
    return sends.transform(with_owner, sends_per_process).withColumns(
        {"effective_outcome": outcome, "not_replayed": not_replayed}
    )


def with_owner(sends: DataFrame, sends_per_process: DataFrame) -> DataFrame:
    """Attempts, or attempts counted by `SENDER`, with their RULES and `process`.

    Args:
        sends: attempts of the day, or attempts counted by `SENDER`.
        sends_per_process: SENDS_PER_PROCESS: the rules are worked out once per sender, not per attempt.
    """
    of = {name: f"of_{name}" for name in RULED_BY}
    rules = sends_per_process.select(*(F.col(name).alias(other) for name, other in of.items()), "process", *RULES)
    same = [F.col(name).eqNullSafe(F.col(other)) for name, other in of.items()]
    return compiled_apart(sends).join(F.broadcast(rules.distinct()), same).drop(*of.values())


def with_tries(some: DataFrame, attempts: DataFrame, names: DataFrame, *, has_async: bool) -> DataFrame:
    """ATTEMPTS: some of the day's attempts, with what other lines show of the tries of async sends.

    Adds `addressed_broker`, `error_broker`, `is_stale_line`, `connected_late` and `broker_failed_ms`.

    Args:
        some: some of `attempts`.
        attempts: every attempt of the day.
        names: as `broker_names` returns them.
        has_async: whether any attempt of the day is async.
    """
    columns = "row_hash bigint, is_stale_line boolean, connected_late boolean, broker_failed_ms bigint"
    marked = marked_lines(attempts, names) if has_async else no_rows(some.sparkSession, columns)
    flags = {name: F.coalesce(name, F.lit(False)) for name in ("is_stale_line", "connected_late")}
    tried = compiled_apart(some).join(marked, "row_hash", "left").withColumns(flags)
    return with_addressed_broker(tried, names)


def marked_lines(attempts: DataFrame, names: DataFrame) -> DataFrame:
    """One row per async attempt of which other lines show more than its own: few among many.

    `row_hash`; `is_stale_line`, `connected_late` (null = it is not); `broker_failed_ms` (null = not known).

    Args:
        attempts: every attempt of the day.
        names: as `broker_names` returns them.
    """
    kinds = (_stale_lines(attempts), _late_connects(attempts), _hidden_failures(attempts, names))
    marked = reduce(lambda one, more: one.unionByName(more, allowMissingColumns=True), kinds)
    return marked.groupBy("row_hash").agg(
        F.bool_or("is_stale_line").alias("is_stale_line"),
        F.bool_or("connected_late").alias("connected_late"),
        F.min("broker_failed_ms").alias("broker_failed_ms"),
    )


def with_addressed_broker(attempts: DataFrame, names: DataFrame) -> DataFrame:
    """With `addressed_broker` (at the attempt's address) and `error_broker` (at the last address in its error).

    An MQBrokerException's text names the producer's address before the broker's, so the last one counts. A line that is
    one try is about its own broker alone. `error_broker` is null where nobody has the address.
    """
    spelled = F.explode("spellings").alias("broker_addr")
    by_address = names.select("cluster", spelled, F.col("name").alias("addressed_broker"))
    # A send by the VIP port is retried by the broker's own.
    by_error = with_other_port(names.drop("spellings"), VIP_PORT_BELOW).withColumnsRenamed(
        {"broker_addr": "error_addr", "name": "error_broker"}
    )
    is_unsaid = F.col("error_addr").isNull()
    has_address = F.col("effective_outcome").isin(*REMOTING, "MQBrokerException") & ~is_one_try()
    with_error_addr = attempts.withColumn("error_addr", F.when(has_address, last_address_in(F.col("error"))))
    return (
        compiled_apart(with_error_addr)
        .join(F.broadcast(by_address), ["cluster", "broker_addr"], "left")
        .join(F.broadcast(by_error), ["cluster", "error_addr"], "left")
        .withColumn("addressed_broker", F.coalesce("addressed_broker", "broker_name"))
        .withColumn(
            "error_broker",
            F.when(is_unsaid, F.col("addressed_broker")).otherwise(F.col("error_broker")),
        )
        .drop("error_addr")
    )


def _stale_lines(attempts: DataFrame) -> DataFrame:
    """`is_stale_line`: the second hook call of an async invocation that was refused at every try.

    From 4.9.3 the retries run inside the submit call; when it returns, the hook fires again with the exception
    of the last try still in its context.
    """
    refused = (F.col("mode") == "ASYNC") & F.col("submitted_at_ms").isNull() & ~is_answer(F.col("outcome"))
    retries_inside = holds("async_retry_inside_submit", F.col("version_number"))
    invocation = Window.partitionBy("cluster", "client_id", "producer_group", "process", "invoke_id", "attempt")
    in_order = invocation.orderBy("ended_at_ms", F.asc_nulls_last("seq"), "row_hash")
    line = F.row_number().over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    candidates = attempts.where(refused & retries_inside & F.col("invoke_id").isNotNull())
    later = candidates.withColumn("line", line).where("line > 1")
    return later.select("row_hash", F.lit(True).alias("is_stale_line"))


def _late_connects(attempts: DataFrame) -> DataFrame:
    """`connected_late`: the answer's own clock started when the submit call had connected, not when it began.

    Up to 5.1.4 `NettyRemotingClient.invokeAsync` connects before it makes the `ResponseFuture` (4.9.8:549), whose
    `beginTimestamp` the callback's latency counts from. A submit call that took long connected, unless the process's
    last attempt that ended before it at that address was answered: then it only waited for a CPU.
    """
    channel = ("cluster", "client_id", "producer_group", "process", "address")
    placed = attempts.withColumn("address", F.coalesce("broker_addr", "broker_name"))
    has_connect = holds("connect_counts_in_latency", F.col("version_number"))
    slow = (F.col("submitted_at_ms") - began_at_ms() > _SLOW_SUBMIT_MS) & ~has_connect
    slow_submits = placed.where((F.col("mode") == "ASYNC") & slow)
    by_this_broker = F.coalesce(F.col("result_broker_name") == F.col("broker_name"), F.lit(True))
    ended = placed.join(F.broadcast(slow_submits.select(*channel).distinct()), list(channel), "left_semi").select(
        *channel,
        F.col("ended_at_ms").alias("at_ms"),
        "seq",
        "row_hash",
        (is_answer(F.col("outcome")) & by_this_broker).alias("answered"),
    )
    began = slow_submits.select(*channel, began_at_ms().alias("at_ms"), "row_hash")
    ends_first = Window.partitionBy(*channel).orderBy(
        "at_ms", F.col("answered").isNull(), F.asc_nulls_last("seq"), "row_hash"
    )
    was_connected = F.last("answered", ignorenulls=True).over(
        ends_first.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        ended.unionByName(began, allowMissingColumns=True)
        .withColumn("connected_late", ~F.coalesce(was_connected, F.lit(False)))
        .where("answered IS NULL AND connected_late")
        .select("row_hash", "connected_late")
    )


def _hidden_failures(attempts: DataFrame, names: DataFrame) -> DataFrame:
    """`broker_failed_ms` of async sends whose first try failed unseen: when another attempt at its broker failed.

    A sync time-out closes the channel to the broker, which fails whatever is in flight on it
    (`NettyRemotingClient.invokeSync` 4.9.8:399-406, 5.3.3:576-583); an answer of the broker, even an error, does not.
    Null when no attempt of the process at that broker failed between the send's submit call and its end.
    """
    may_hide = (F.col("mode") == "ASYNC") & ~is_one_try() & failed_in_callback()
    failed = ~is_answer(F.col("outcome"))
    renamed = F.coalesce(F.col("result_broker_name") != F.col("broker_name"), F.lit(False))
    lines = attempts.where(failed | (may_hide & renamed)).transform(with_addressed_broker, names)
    # A send that ended for want of time lost it at its first broker, which so failed at the end.
    in_time = failed & (F.col("effective_outcome") != "RemotingTooMuchRequestException")
    hides = may_hide & (was_retried() | (in_time & ~F.col("error_broker").eqNullSafe(F.col("addressed_broker"))))
    channel = ("cluster", "client_id", "producer_group", "process", "broker")
    is_known = F.col("error_broker").isNotNull()
    ended = lines.where(failed & is_known & (F.col("outcome") != "MQBrokerException")).select(
        *channel[:-1],
        F.col("error_broker").alias("broker"),
        F.col("ended_at_ms").alias("at_ms"),
        F.col("ended_at_ms").alias("failed_ms"),
        "row_hash",
    )
    hidden = lines.where(hides).select(
        *channel[:-1],
        F.col("addressed_broker").alias("broker"),
        F.col("submitted_at_ms").alias("at_ms"),
        "ended_at_ms",
        "row_hash",
    )
    in_order = Window.partitionBy(*channel).orderBy("at_ms", F.col("failed_ms").isNotNull(), "row_hash")
    next_failure = F.first("failed_ms", ignorenulls=True).over(
        in_order.rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )
    return (
        hidden.unionByName(ended, allowMissingColumns=True)
        .withColumn("broker_failed_ms", next_failure)
        .where("failed_ms IS NULL AND broker_failed_ms <= ended_at_ms")
        .select("row_hash", "broker_failed_ms")
    )
