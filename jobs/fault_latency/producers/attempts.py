"""Attempts enriched with rules, process, resolved broker names and a flag for the hook's repeated lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.producers.processes import with_process
from jobs.fault_latency.producers.rules import with_rules
from jobs.settings.model import ProducerSettings
from udfs.choice import began_at_ms
from udfs.outcome import effective_outcome, is_answer
from udfs.plain_outcome import REMOTING
from udfs.releases import holds

_SLOW_SUBMIT_MS = 10
"""A submit call that takes longer than this may have connected."""

_VIP_PORT_BELOW = 2
"""`MixAll.brokerVIPChannel`."""

_MARKS = ("is_stale_line", "connected_late")

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
    sends: DataFrame, versions: DataFrame, producers: Mapping[str, ProducerSettings], beginnings: DataFrame
) -> DataFrame:
    """One row per attempt, with the columns of `rules.with_rules` and `processes.with_process`.

    Rules rest with a sender, so they are looked up only for attempts that are looked at one by one.

    Args:
        sends: published attempts.
        versions: as `rules.versions_of` returns them.
        producers: the site's settings of producers.
        beginnings: as `processes.beginnings` returns them.
    """
    return sends.transform(with_rules, versions, producers).transform(with_process, beginnings)


def attempts_of(owned: DataFrame, names: DataFrame, marked: DataFrame | None) -> DataFrame:
    """One row per attempt, as the replay and what follows from it take it.

    Adds `addressed_broker`, `error_broker`, `is_stale_line` and `connected_late`; drops those that only these were
    derived from.

    Args:
        owned: attempts with their rules and process, as `with_owner` returns them.
        names: as `broker_names` returns them.
        marked: as `marked_lines` returns them; None when no attempt of the day is async.
    """
    described = owned if marked is None else owned.join(F.broadcast(marked), "row_hash", "left")
    for mark in _MARKS:
        described = described.withColumn(mark, F.lit(False) if marked is None else F.coalesce(mark, F.lit(False)))
    return described.transform(with_addressed_broker, names).drop(*_LOOKUP_INPUTS)


def marked_lines(owned: DataFrame) -> DataFrame:
    """One row per async attempt of which other lines show more than its own: few among many.

    `row_hash`; `is_stale_line`, `connected_late` (null = it is not).

    Args:
        owned: all attempts of the day with their rules and process.
    """
    marked = _stale_lines(owned).unionByName(_late_connects(owned), allowMissingColumns=True)
    return marked.groupBy("row_hash").agg(*(F.bool_or(name).alias(name) for name in _MARKS))


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

    An MQBrokerException's text names the producer's address before the broker's, so the last one counts.
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
        .withColumn("error_broker", F.coalesce("error_broker", "addressed_broker"))
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
