"""The writes of one attempt to fault items, as structs: direct attempts, callbacks and submit calls."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.kinds import Evidence
from udfs.async_tries import answering_broker, failed_in_callback, is_one_try, was_retried
from udfs.choice import began_at_ms
from udfs.outcome import counts_as_failure, counts_with_latency, is_answer, leaves_reachable
from udfs.policy import Policy
from udfs.releases import holds

# Place of a write among those of its own attempt when the millisecond is the same: the submit call and a
# failed callback come before the hook's line, a direct attempt's and a successful callback's update after it.
_REFUSED_AT_SUBMIT, _SUBMITTED, _BEFORE_LINE, AFTER_LINE, _LATE_SUBMIT = 1, 2, 3, 4, 5
SUBMIT_STEPS = (_SUBMITTED, _LATE_SUBMIT)
"""`step` of a write that the submit call of an async send made."""

_HUNG_MS = 550
"""A retry that answered sooner after the submit call followed a refusal, not a time-out."""
CHARGED_MS = 3000

_REFUSED, _OUT_OF_TIME = "RemotingConnectException", "RemotingTooMuchRequestException"
_INTERRUPTED = "InterruptedException"


def _write(
    broker: Column,
    at_ms: Column,
    step: int | Column,
    latency_ms: Column,
    *,
    failure: bool | Column,
    cause: Column,
    reachable: bool | Column = True,
    evidence: str | Column = Evidence.LOGGED,
) -> Column:
    """One write as a struct."""
    return F.struct(
        broker.alias("broker_name"),
        at_ms.alias("at_ms"),
        F.lit(step).alias("step"),
        latency_ms.alias("current_latency_ms"),
        F.lit(failure).alias("is_failure"),
        F.lit(reachable).alias("reachable"),
        F.when(F.lit(failure), cause).otherwise(F.lit("LATENCY")).alias("cause"),
        F.lit(evidence).alias("evidence"),
    )


def makes_direct_write(policies: Sequence[Policy]) -> Column:
    """Whether a sync or one-way attempt makes the update of `direct`; never when the caller chose the queue."""
    outcome, isolates = F.col("effective_outcome"), _not_exist_isolates(policies)
    return ~F.col("by_caller") & (counts_as_failure(outcome, isolates) | counts_with_latency(outcome, isolates))


def direct(policies: Sequence[Policy]) -> Column:
    """Sync and one-way attempts that `makes_direct_write` holds for: one update after the hook's line."""
    outcome = F.col("effective_outcome")
    return _write(
        F.col("broker_name"),
        F.col("ended_at_ms"),
        AFTER_LINE,
        F.col("latency_ms"),
        failure=counts_as_failure(outcome, _not_exist_isolates(policies)),
        reachable=leaves_reachable(outcome, F.col("detector")),
        cause=outcome,
    )


def _not_exist_isolates(policies: Sequence[Policy]) -> Column:
    return F.col("policy").isin([policy.name for policy in policies if policy.not_exist_isolates])


def logged_async() -> list[Column]:
    """Writes of an async attempt that the log shows: the callback's and the submit call's.

    The callback follows the address, not the name: the hook's name is a live object that may be renamed, the
    callback keeps the String of `sendKernelImpl` (`MQClientAPIImpl.sendMessageAsync` 4.9.8:541-576). A failed
    callback updates before its hook, an answered one after it.
    """
    outcome = F.col("effective_outcome")
    first, last = F.col("addressed_broker"), F.col("error_broker")
    ended, latency, submitted = F.col("ended_at_ms"), F.col("latency_ms"), F.col("submitted_at_ms")
    submit_took = submitted - began_at_ms()
    # A retry is sent when the first try fails; where that time is not known, nothing is known of its own latency.
    retry_latency = F.coalesce(ended - F.col("broker_failed_ms"), F.lit(0))
    answer_latency = (
        F.when(was_retried(), retry_latency).when(F.col("connected_late"), ended - submitted).otherwise(latency)
    )
    answer = _write(answering_broker(), ended, AFTER_LINE, answer_latency, failure=False, cause=outcome)

    # A retry that is refused is charged to the broker tried before it (`onExceptionImpl` 4.9.2:617-620).
    charged = _is_charged()
    failure = _write(
        F.when(charged, F.coalesce("previous_broker_name", first)).otherwise(last),
        ended,
        _BEFORE_LINE,
        F.when(charged, CHARGED_MS).when(last == first, latency).otherwise(0),
        failure=True,
        cause=outcome,
        reachable=~_caught_at_submit() | ~outcome.isin(_REFUSED, _OUT_OF_TIME),
        evidence=F.when(is_one_try() | (last == first), Evidence.LOGGED)
        .when(charged, Evidence.RETRY_CHARGED)
        .otherwise(Evidence.RETRY_TEXT),
    )
    refusal = _write(first, ended, AFTER_LINE, latency, failure=outcome != _INTERRUPTED, cause=outcome)
    submit = _write(first, submitted, _SUBMITTED, submit_took, failure=False, cause=outcome)
    stale_submit = _write(first, ended, AFTER_LINE, latency, failure=False, cause=outcome)
    by_client = ~F.col("by_caller")
    return [
        F.when(is_answer(outcome), answer),
        F.when(_failed_in_callback() & (charged | last.isNotNull()), failure),
        F.when(_thrown_at_submit() & by_client, refusal),
        F.when(by_client & submitted.isNotNull(), submit),
        F.when(by_client & F.col("is_stale_line"), stale_submit),
    ]


def hidden_async() -> list[Column]:
    """Writes of an async send that its one line implies: of its first try, and of a submit call that came late.

    From 4.9.3 a try that is refused inside the submit call is retried there (`sendMessageAsync`'s catch), so the
    submit call's own update comes after it and, up to 5.1.3, clears it again. From 5.3.0 (it connects beside the call,
    `NettyRemotingClient.getAndCreateChannelAsync`), after a time-out, and up to 4.9.2 (there a refusal at submit is
    thrown) the first try failed in a callback; so it did when `failed_in_callback` holds. An error at an address that
    nobody has is of a retry, or of the first broker under another name: the first broker failed either way.
    """
    version, outcome, first = F.col("version_number"), F.col("effective_outcome"), F.col("addressed_broker")
    ended, latency, submitted = F.col("ended_at_ms"), F.col("latency_ms"), F.col("submitted_at_ms")
    hidden = F.lit("HIDDEN_RETRY")
    soon = holds("async_retry_inside_submit", version) & (submitted.isNull() | (ended - submitted < _HUNG_MS))
    at_submit_call = soon & ~failed_in_callback()
    failed_ms = F.coalesce("broker_failed_ms", ended)
    at_submit = F.when(~holds("connects_asynchronously", version), F.coalesce(submitted, ended)).otherwise(ended)
    refused_first = _write(
        first,
        at_submit,
        _REFUSED_AT_SUBMIT,
        F.lit(0).cast("bigint"),
        failure=True,
        cause=hidden,
        reachable=~_caught_at_submit(),
        evidence=Evidence.RETRY_RESULT,
    )
    hung_first = _write(
        first,
        failed_ms,
        _BEFORE_LINE,
        latency,
        failure=True,
        cause=hidden,
        evidence=Evidence.RETRY_RESULT,
    )
    failed_first = _write(
        first,
        failed_ms,
        _REFUSED_AT_SUBMIT,
        latency,
        failure=True,
        cause=hidden,
        reachable=~_caught_at_submit() | submitted.isNotNull(),
        evidence=Evidence.RETRY_FIRST,
    )
    late_submit = _write(
        first,
        ended,
        _LATE_SUBMIT,
        latency,
        failure=False,
        cause=hidden,
        evidence=Evidence.SUBMIT_TIME,
    )
    return [
        F.when(was_retried() & at_submit_call, refused_first),
        F.when(was_retried() & ~at_submit_call, hung_first),
        F.when(_failed_in_callback() & ~F.col("error_broker").eqNullSafe(first), failed_first),
        F.when(is_answer(outcome) & ~F.col("by_caller") & submitted.isNull() & _is_submitted(), late_submit),
    ]


def _is_submitted() -> Column:
    """The line is, or begins with, the try that the submit call makes: a retry of a send with tries is not."""
    return ~is_one_try() | (F.coalesce("attempt", F.lit(1)) == 1)


def _thrown_at_submit() -> Column:
    """Up to 4.9.2 a failure inside the submit call goes up to `sendDefaultImpl`, which updates after the hook.

    A Remoting exception isolates (4.9.2:627), an interruption counts with its latency (656). An MQBrokerException, as
    an MQClientException, is a callback's: for the latter `sendKernelImpl` calls no hook (891-908).
    """
    failed = ~is_answer(F.col("effective_outcome")) & ~F.col("outcome").isin("MQBrokerException", "MQClientException")
    at_submit = F.col("submitted_at_ms").isNull() & _is_submitted()
    return failed & at_submit & ~holds("async_retry_inside_submit", F.col("version_number"))


def _failed_in_callback() -> Column:
    return ~is_answer(F.col("effective_outcome")) & ~F.col("is_stale_line") & ~_thrown_at_submit()


def _caught_at_submit() -> Column:
    """5.1.4 and 5.2.0: the catch of `sendMessageAsync` (714, 702) writes reachable = false; a callback writes true."""
    version = F.col("version_number")
    return holds("caught_at_submit_is_unreachable", version) & ~holds("connects_asynchronously", version)


def _is_charged() -> Column:
    """4.0 to 4.9.2: a retry was refused, so the broker tried before it is charged."""
    refused = ~holds("async_retry_inside_submit", F.col("version_number")) & (F.col("effective_outcome") == _REFUSED)
    is_retry = F.when(is_one_try(), ~_is_submitted()).otherwise(F.col("error_broker") != F.col("addressed_broker"))
    return refused & is_retry
