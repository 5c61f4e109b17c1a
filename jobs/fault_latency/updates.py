"""What each send attempt wrote to fault items: from attempts to `updateFaultItem` calls.

One attempt makes none (the caller chose the queue), one (sync, one-way) or up to four (async: the callback, the
submit call, and retries that the log does not show). What is not logged but follows from the client's code names
its evidence, and is left out with `infer = false`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.replay import CARRIED, ITEM, UPDATE
from udfs.evidence import LOGGED, RETRY_CHARGED, RETRY_FIRST, RETRY_RESULT, RETRY_TEXT, SUBMIT_TIME
from udfs.outcome import (
    REMOTING,
    counts_as_failure,
    counts_with_latency,
    effective_outcome,
    is_answer,
    leaves_reachable,
)
from udfs.policy import Policy, not_available_ms

# Where a write stands among those of its own attempt when the millisecond is the same: the submit call and a
# failed callback come before the hook's line, a direct attempt's and a successful callback's update after it.
_REFUSED_AT_SUBMIT, _SUBMITTED, _BEFORE_LINE, _AFTER_LINE, _LATE_SUBMIT = 1, 2, 3, 4, 5

_V4_9_3, _V5_1_4, _V5_2_0 = 40903, 50104, 50200
_SLOW_CONNECT_MS = 10
_HUNG_MS = 550
"""A retry that answered sooner after the submit call followed a refusal, not a time-out."""
_CHARGED_MS = 3000
_DEFAULT_TIMEOUT_MS = 3000
_REFUSED, _OUT_OF_TIME = "RemotingConnectException", "RemotingTooMuchRequestException"


def updates(sends: DataFrame, policies: Sequence[Policy], *, infer: bool) -> DataFrame:
    """The writes of the attempts, as `replay.replay` takes them.

    Grain: one write. `ITEM`, `at_ms`, the order's columns, `op` UPDATE, `policy`, `profile`, `version`,
    `thread` (a submit call counts as a thread of its own; null = not known), `current_latency_ms`, `is_failure`,
    `reachable`, `cause` (LATENCY or the outcome), `evidence`, `not_available_ms`, `dies_at_ms`, and
    `middle_topic`, `middle_after`: topic and first broker of a failure that ran out of time after three tries,
    whose middle one is not in the log (null for all others).

    Args:
        sends: attempts that can be replayed, with `producers.with_rules` and `with_process`.
        policies: every policy that a row may name.
        infer: also the writes that are inferred rather than logged.
    """
    seen = sends.transform(with_addressed_broker).transform(_with_stale_line)
    outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    error_broker = F.col("error_broker") if infer else F.col("addressed_broker")
    described = seen.withColumns({"seen_outcome": outcome, "error_broker": error_broker})
    direct = F.col("mode") != "ASYNC"
    of_async = F.array(*_logged_async(), *_inferred_async(infer=infer))
    writes = F.when(direct, F.array(_direct(policies))).otherwise(of_async)
    exploded = described.withColumn("write", F.explode(F.array_compact(writes))).select(
        *ITEM[:-1], "write.*", "seq", "started_at_ms", "invoke_id", "attempt", "row_hash", "policy", "profile",
        "version", "dies_at_ms",
    )
    return exploded.withColumns(
        {
            "op": F.lit(UPDATE),
            "not_available_ms": not_available_ms(
                F.col("policy"), F.col("current_latency_ms"), F.col("is_failure"), policies
            ),
            "carried_until_ms": F.lit(None).cast("bigint"),
            "carried_earliest_ms": F.lit(None).cast("bigint"),
            "carried_latest_ms": F.lit(None).cast("bigint"),
            "carried_extensions": F.lit(0),
        }
    )


def carried_updates(opening: DataFrame, day_start_ms: int) -> DataFrame:
    """The fault items of the day before as the first writes of this one, at 00:00 UTC.

    Args:
        opening: `fault_item_state` of the day before, with `dies_at_ms`.
        day_start_ms: 00:00 UTC of the day, epoch ms.
    """
    nothing = F.lit(None).cast("bigint")
    return opening.select(
        *ITEM,
        F.lit(day_start_ms).cast("bigint").alias("at_ms"),
        F.lit(0).alias("step"),
        F.coalesce("opener_latency_ms", F.lit(0)).cast("bigint").alias("current_latency_ms"),
        F.lit(False).alias("is_failure"),
        F.col("reachable"),
        F.coalesce("cause", F.lit("LATENCY")).alias("cause"),
        F.coalesce("evidence", F.lit(LOGGED)).alias("evidence"),
        F.lit(-1).cast("bigint").alias("seq"),
        nothing.alias("started_at_ms"), nothing.alias("invoke_id"), F.lit(None).cast("int").alias("attempt"),
        nothing.alias("row_hash"),
        "policy", "profile", F.col("client_version").alias("version"),
        *(F.lit(None).cast("string").alias(name) for name in ("thread", "middle_topic", "middle_after")),
        "dies_at_ms",
        F.lit(CARRIED).alias("op"),
        F.lit(0).cast("bigint").alias("not_available_ms"),
        F.col("available_at_ms").alias("carried_until_ms"),
        F.col("available_earliest_ms").alias("carried_earliest_ms"),
        F.col("available_latest_ms").alias("carried_latest_ms"),
        F.coalesce("extensions", F.lit(0)).alias("carried_extensions"),
    )


def _write(
    broker: Column, at_ms: Column, step: int | Column, latency_ms: Column, *, failure: bool | Column, cause: Column,
    reachable: bool | Column = True, evidence: str | Column = LOGGED, thread: Column | None = None,
    middle: Column | None = None,
) -> Column:
    """One write: null `thread` stands for the attempt's own; `middle` tells whether a middle broker is hidden."""
    def literal(value: object) -> Column:
        return value if isinstance(value, Column) else F.lit(value)

    hides = F.lit(False) if middle is None else middle
    return F.struct(
        broker.alias("broker_name"),
        at_ms.alias("at_ms"),
        literal(step).alias("step"),
        (F.col("thread") if thread is None else thread).alias("thread"),
        latency_ms.alias("current_latency_ms"),
        literal(failure).alias("is_failure"),
        literal(reachable).alias("reachable"),
        F.when(literal(failure), cause).otherwise(F.lit("LATENCY")).alias("cause"),
        literal(evidence).alias("evidence"),
        F.when(hides, F.col("topic")).alias("middle_topic"),
        F.when(hides, F.col("addressed_broker")).alias("middle_after"),
    )


def _direct(policies: Sequence[Policy]) -> Column:
    """Sync and one-way attempts: one update after the hook's line, none when the caller chose the queue."""
    outcome = F.col("seen_outcome")
    isolates_not_exist = F.col("policy").isin([each.name for each in policies if each.not_exist_isolates])
    failure = counts_as_failure(outcome, isolates_not_exist)
    counts = ~F.col("by_caller") & (failure | counts_with_latency(outcome, isolates_not_exist))
    return F.when(
        counts,
        _write(
            F.col("broker_name"), F.col("ended_at_ms"), _AFTER_LINE, F.col("latency_ms"), failure=failure,
            reachable=leaves_reachable(outcome, F.col("detector")), cause=outcome,
        ),
    )


def _logged_async() -> list[Column]:
    """Async attempts as logged: the callback and the submit call.

    The callback follows the address, not the name: the hook's name is a live object that may be renamed, the
    callback keeps the String of `sendKernelImpl` (`MQClientAPIImpl.sendMessageAsync` 4.9.8:541-576). A failed
    callback updates before its hook, an answered one after it.
    """
    version, outcome = F.col("version_number"), F.col("seen_outcome")
    first, last = F.col("addressed_broker"), F.col("error_broker")
    ended, latency, submitted = F.col("ended_at_ms"), F.col("latency_ms"), F.col("submitted_at_ms")
    submit_took = submitted - F.coalesce("started_at_ms", ended - latency)
    # Up to 5.1.4 the callback's clock (ResponseFuture.beginTimestamp) starts after the connect (4.9.8:549).
    connected_late = (version < _V5_2_0) & (submit_took > _SLOW_CONNECT_MS)
    # Of a retry's own latency the log says nothing.
    answer_latency = F.when(_retried(), 0).when(connected_late, ended - submitted).otherwise(latency)
    answer = _write(_answering(), ended, _AFTER_LINE, answer_latency, failure=False, cause=outcome)

    charged = (version < _V4_9_3) & (outcome == _REFUSED)
    failure = _write(
        last, ended, _BEFORE_LINE,
        F.when(last == first, latency).when(charged, _CHARGED_MS).otherwise(0),
        failure=True, cause=outcome,
        # Only the catch of 5.1.4's sendMessageAsync (line 714) writes false; a callback writes true.
        reachable=(version != _V5_1_4) | ~outcome.isin(_REFUSED, _OUT_OF_TIME),
        evidence=F.when(last == first, LOGGED).when(charged, RETRY_CHARGED).otherwise(RETRY_TEXT),
        middle=_hides_middle(),
    )
    refusal = _write(first, ended, _AFTER_LINE, latency, failure=True, cause=outcome)
    submit = _write(first, submitted, _SUBMITTED, submit_took, failure=False, cause=outcome, thread=_submit_thread())
    stale_submit = _write(first, ended, _AFTER_LINE, latency, failure=False, cause=outcome)
    by_client = ~F.col("by_caller")
    return [
        F.when(is_answer(outcome), answer),
        F.when(_failed_in_callback(), failure),
        F.when(_thrown_at_submit() & by_client, refusal),
        F.when(by_client & submitted.isNotNull(), submit),
        F.when(by_client & F.col("is_stale_line"), stale_submit),
    ]


def _inferred_async(*, infer: bool) -> list[Column]:
    """What an async attempt wrote besides: hidden tries, and a submit call that its callback overtook.

    From 4.9.3 a try that is refused inside the submit call is retried there (`sendMessageAsync`'s catch), so the
    submit call's own update comes after it and, up to 5.1.3, clears it again. From 5.2.0 (`operationFail`), after a
    time-out, and up to 4.9.2 (there a refusal at submit is thrown) the first try failed in a callback.
    """
    if not infer:
        return []
    version, outcome, first = F.col("version_number"), F.col("seen_outcome"), F.col("addressed_broker")
    ended, latency, submitted = F.col("ended_at_ms"), F.col("latency_ms"), F.col("submitted_at_ms")
    hidden = F.lit("HIDDEN_RETRY")
    soon = (version >= _V4_9_3) & (submitted.isNull() | (ended - submitted < _HUNG_MS))
    at_submit = F.when(version < _V5_2_0, F.coalesce(submitted, ended)).otherwise(ended)
    refused_first = _write(
        first, at_submit, _REFUSED_AT_SUBMIT, F.lit(0).cast("bigint"), failure=True, cause=hidden,
        reachable=version != _V5_1_4, evidence=RETRY_RESULT, thread=_submit_thread(),
    )
    hung_first = _write(
        first, ended, _BEFORE_LINE, latency, failure=True, cause=hidden, evidence=RETRY_RESULT,
        thread=F.lit(None).cast("string"),
    )
    failed_first = _write(
        first, ended, _REFUSED_AT_SUBMIT, latency, failure=True, cause=hidden,
        reachable=(version != _V5_1_4) | submitted.isNotNull(), evidence=RETRY_FIRST,
    )
    late_submit = _write(
        first, ended, _LATE_SUBMIT, latency, failure=False, cause=hidden, evidence=SUBMIT_TIME,
        thread=F.lit(None).cast("string"),
    )
    return [
        F.when(_retried() & soon, refused_first),
        F.when(_retried() & ~soon, hung_first),
        F.when(_failed_in_callback() & (F.col("error_broker") != first), failed_first),
        F.when(is_answer(outcome) & ~F.col("by_caller") & submitted.isNull(), late_submit),
    ]


def _answering() -> Column:
    return F.coalesce("result_broker_name", "addressed_broker")


def _retried() -> Column:
    return is_answer(F.col("seen_outcome")) & (_answering() != F.col("addressed_broker"))


def _thrown_at_submit() -> Column:
    """Up to 4.9.2 a refusal inside the submit call goes up to `sendDefaultImpl`, which isolates after the hook."""
    failed = ~is_answer(F.col("seen_outcome")) & (F.col("seen_outcome") != "MQBrokerException")
    return failed & F.col("submitted_at_ms").isNull() & (F.col("version_number") < _V4_9_3)


def _failed_in_callback() -> Column:
    return ~is_answer(F.col("seen_outcome")) & ~F.col("is_stale_line") & ~_thrown_at_submit()


def _hides_middle() -> Column:
    """4.9.3 to 5.1.4: no time was left at the last try, so there were three, and the log names two of them."""
    outcome, version = F.col("seen_outcome"), F.col("version_number")
    spent = (outcome == _OUT_OF_TIME) | ((outcome == _REFUSED) & (F.col("latency_ms") >= _DEFAULT_TIMEOUT_MS))
    return spent & version.between(_V4_9_3, _V5_1_4) & ~F.col("by_caller") & F.col("submitted_at_ms").isNotNull()


def _submit_thread() -> Column:
    """The submit call runs beside its callback; its own thread is not logged."""
    return F.concat(F.lit("submit "), F.col("seq"))


def with_addressed_broker(sends: DataFrame) -> DataFrame:
    """With `addressed_broker` (at the attempt's address) and `error_broker` (at the last address in its error).

    The name of an address is the one that most attempts of the day give it. An MQBrokerException's text names the
    producer's address before the broker's, so the last one counts.
    """
    uses = sends.where("broker_addr IS NOT NULL").groupBy("cluster", "broker_addr", "broker_name").count()
    most = F.max_by("broker_name", F.struct("count", F.hash("broker_name"), "broker_name"))
    names = F.broadcast(uses.groupBy("cluster", "broker_addr").agg(most.alias("name")))
    by_address = names.select("cluster", "broker_addr", F.col("name").alias("addressed_broker"))
    by_error = names.select("cluster", F.col("broker_addr").alias("error_addr"), F.col("name").alias("error_broker"))
    seen_outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    addresses = F.regexp_extract_all("error", F.lit(r"(\d+\.\d+\.\d+\.\d+:\d+)"), 1)
    error_addr = F.when(seen_outcome.isin(*REMOTING, "MQBrokerException"), F.try_element_at(addresses, F.lit(-1)))
    return (
        sends.withColumn("error_addr", error_addr)
        .join(by_address, ["cluster", "broker_addr"], "left")
        .join(by_error, ["cluster", "error_addr"], "left")
        .withColumn("addressed_broker", F.coalesce("addressed_broker", "broker_name"))
        .withColumn("error_broker", F.coalesce("error_broker", "addressed_broker"))
        .drop("error_addr")
    )


def _with_stale_line(sends: DataFrame) -> DataFrame:
    """With `is_stale_line`: the second hook call of an async invocation that was refused at every try.

    From 4.9.3 the retries run inside the submit call; when it returns, the hook fires again with the exception
    of the last try still in its context.
    """
    refused = (F.col("mode") == "ASYNC") & F.col("submitted_at_ms").isNull() & ~is_answer(F.col("outcome"))
    retries_inside = F.col("version_number") >= _V4_9_3
    invocation = Window.partitionBy("cluster", "client_id", "producer_group", "process", "invoke_id", "attempt")
    in_order = invocation.orderBy("ended_at_ms", F.asc_nulls_last("seq"), "row_hash")
    line = F.row_number().over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    candidates = sends.where(refused & retries_inside & F.col("invoke_id").isNotNull())
    later = candidates.withColumn("line", line).where("line > 1")
    second = later.select("row_hash", F.lit(True).alias("is_stale_line"))
    return sends.join(F.broadcast(second), "row_hash", "left").withColumn(
        "is_stale_line", F.coalesce("is_stale_line", F.lit(False))
    )
