"""Attempts enriched with rules, process, resolved broker names and a flag for the hook's repeated lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.producers.processes import with_process
from jobs.fault_latency.producers.rules import with_rules
from jobs.settings.model import ProducerSettings
from udfs.async_tries import failed_in_callback, is_one_try, was_retried
from udfs.choice import began_at_ms
from udfs.outcome import effective_outcome, is_answer
from udfs.plain_outcome import REMOTING
from udfs.releases import holds

_SLOW_SUBMIT_MS = 10
"""A submit call that takes longer than this may have connected."""

_VIP_PORT_BELOW = 2
"""`MixAll.brokerVIPChannel`."""

_MARKS = ("is_stale_line", "connected_late")
"""Flags; a line that is not marked has false."""

# Rules, process and brokers are looked up by these columns; no later step reads them.
_LOOKUP_INPUTS = (
    "process_id",
    "broker_addr",
    "client_version",
    "client_language",
    "error",
    "queue_chosen_by",
    "fault_latency_enabled",
    "detector_enabled",
)


WithOwner = Callable[[DataFrame], DataFrame]
"""`with_owner` of one day: attempts, any of the day, to the same with their rules and process."""


def with_owner(
    sends: DataFrame, *, versions: DataFrame, producers: Mapping[str, ProducerSettings], processes: DataFrame
) -> DataFrame:
    """One row per attempt, with the columns of `rules.with_rules` and `processes.with_process`.

    Rules rest with a sender, so they are looked up only for attempts that are looked at one by one.

    Args:
        sends: published attempts.
        versions: as `rules.versions_of` returns them.
        producers: the site's settings of producers.
        processes: as `notable_processes` returns them.
    """
    return sends.transform(with_rules, versions, producers).transform(with_process, processes)


def attempts_of(owned: DataFrame, names: DataFrame, marked: DataFrame | None) -> DataFrame:
    """One row per attempt, as the replay and what follows from it take it.

    Adds `addressed_broker`, `error_broker`, `is_stale_line`, `connected_late` and `broker_failed_ms`; drops those that
    only these were derived from.

    Args:
        owned: attempts with their rules and process, as `with_owner` returns them.
        names: as `broker_names` returns them.
        marked: as `marked_lines` returns them; None when no attempt of the day is async.
    """
    described = owned if marked is None else owned.join(F.broadcast(marked), "row_hash", "left")
    for mark in _MARKS:
        described = described.withColumn(mark, F.lit(False) if marked is None else F.coalesce(mark, F.lit(False)))
    if marked is None:
        described = described.withColumn("broker_failed_ms", F.lit(None).cast("bigint"))
    return described.transform(with_addressed_broker, names).drop(*_LOOKUP_INPUTS)


def marked_lines(owned: DataFrame, names: DataFrame) -> DataFrame:
    """One row per async attempt of which other lines show more than its own: few among many.

    `row_hash`; `is_stale_line`, `connected_late` (null = it is not); `broker_failed_ms` (null = not known).

    Args:
        owned: all attempts of the day with their rules and process.
        names: as `broker_names` returns them.
    """
    kinds = (_stale_lines(owned), _late_connects(owned), _hidden_failures(owned, names))
    marked = reduce(lambda some, more: some.unionByName(more, allowMissingColumns=True), kinds)
    flags = (F.bool_or(name).alias(name) for name in _MARKS)
    return marked.groupBy("row_hash").agg(*flags, F.min("broker_failed_ms").alias("broker_failed_ms"))


def broker_names(counted: DataFrame) -> DataFrame:
    """One row per `cluster` and `broker_addr`: the `name` that most attempts of the day give the address.

    Args:
        counted: attempts counted together: `sends`.
    """
    uses = counted.where("broker_addr IS NOT NULL").groupBy("cluster", "broker_addr", "broker_name")
    most = F.max_by("broker_name", F.struct("sends", F.hash("broker_name"), "broker_name"))
    return uses.agg(F.sum("sends").alias("sends")).groupBy("cluster", "broker_addr").agg(most.alias("name"))


def with_addressed_broker(sends: DataFrame, names: DataFrame) -> DataFrame:
    """With `addressed_broker` (at the attempt's address) and `error_broker` (at the last address in its error).

    An MQBrokerException's text names the producer's address before the broker's, so the last one counts. A line that is
    one try is about its own broker alone.
    """
    by_address = names.select("cluster", "broker_addr", F.col("name").alias("addressed_broker"))
    # Up to 4.4.0 a send goes to the VIP port by default, two below the one that its retries use.
    host, port = (F.substring_index("broker_addr", ":", place) for place in (1, -1))
    plain = names.withColumn(
        "broker_addr", F.concat_ws(":", host, (port.try_cast("int") + _VIP_PORT_BELOW).cast("string"))
    )
    of_retries = plain.join(names, ["cluster", "broker_addr"], "left_anti")
    by_error = names.unionByName(of_retries).select(
        "cluster", F.col("broker_addr").alias("error_addr"), F.col("name").alias("error_broker")
    )
    seen_outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    addresses = F.regexp_extract_all("error", F.lit(r"(\d+\.\d+\.\d+\.\d+:\d+)"), 1)
    error_addr = F.when(seen_outcome.isin(*REMOTING, "MQBrokerException"), F.try_element_at(addresses, F.lit(-1)))
    return (
        sends.withColumn("error_addr", error_addr)
        .join(F.broadcast(by_address), ["cluster", "broker_addr"], "left")
        .join(F.broadcast(by_error), ["cluster", "error_addr"], "left")
        .withColumn("addressed_broker", F.coalesce("addressed_broker", "broker_name"))
        .withColumn("error_broker", F.coalesce(F.when(~is_one_try(), F.col("error_broker")), "addressed_broker"))
        .drop("error_addr")
    )


def _stale_lines(sends: DataFrame) -> DataFrame:
    """`is_stale_line`: the second hook call of an async invocation that was refused at every try.

    From 4.9.3 the retries run inside the submit call; when it returns, the hook fires again with the exception
    of the last try still in its context.
    """
    refused = (F.col("mode") == "ASYNC") & F.col("submitted_at_ms").isNull() & ~is_answer(F.col("outcome"))
    retries_inside = holds("async_retry_inside_submit", F.col("version_number"))
    invocation = Window.partitionBy("cluster", "client_id", "producer_group", "process", "invoke_id", "attempt")
    in_order = invocation.orderBy("ended_at_ms", F.asc_nulls_last("seq"), "row_hash")
    line = F.row_number().over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    candidates = sends.where(refused & retries_inside & F.col("invoke_id").isNotNull())
    later = candidates.withColumn("line", line).where("line > 1")
    return later.select("row_hash", F.lit(True).alias("is_stale_line"))


def _late_connects(sends: DataFrame) -> DataFrame:
    """`connected_late`: the answer's own clock started when the submit call had connected, not when it began.

    Up to 5.1.4 `NettyRemotingClient.invokeAsync` connects before it makes the `ResponseFuture` (4.9.8:549), whose
    `beginTimestamp` the callback's latency counts from. A submit call that took long connected, unless the process's
    last attempt that ended before it at that address was answered: then it only waited for a CPU.
    """
    channel = ("cluster", "client_id", "producer_group", "process", "address")
    placed = sends.withColumn("address", F.coalesce("broker_addr", "broker_name"))
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


def _hidden_failures(owned: DataFrame, names: DataFrame) -> DataFrame:
    """`broker_failed_ms` of async sends whose first try failed unseen: when another attempt at its broker failed.

    A sync time-out closes the channel to the broker, which fails whatever is in flight on it
    (`NettyRemotingClient.invokeSync` 4.9.8:399-406, 5.3.3:576-583); an answer of the broker, even an error, does not.
    Null when no attempt of the process at that broker failed between the send's submit call and its end.
    """
    seen_outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    may_hide = (F.col("mode") == "ASYNC") & ~is_one_try() & failed_in_callback()
    failed = ~is_answer(F.col("outcome"))
    renamed = F.coalesce(F.col("result_broker_name") != F.col("broker_name"), F.lit(False))
    lines = (
        owned.where(failed | (may_hide & renamed))
        .transform(with_addressed_broker, names)
        .withColumn("seen_outcome", seen_outcome)
    )
    # A send that ended for want of time lost it at its first broker, which so failed at the end.
    in_time = failed & (F.col("seen_outcome") != "RemotingTooMuchRequestException")
    hides = may_hide & (was_retried() | (in_time & (F.col("error_broker") != F.col("addressed_broker"))))
    channel = ("cluster", "client_id", "producer_group", "process", "broker")
    ended = lines.where(failed & (F.col("outcome") != "MQBrokerException")).select(
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
