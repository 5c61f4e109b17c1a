"""Members of each consumer group over the day, as each broker reports them, and when a broker reported nothing."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import answer_intervals, lasting
from jobs.kinds import GroupCause
from jobs.tables.day import Day

_BROKER = ("consumer_group", "broker_name")
_HEARD = "HEARD"  # sorts after the causes: of one capture twice the answer counts


def member_lists(answers: DataFrame, day: Day, opening: DataFrame, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal member lists per group and broker, as `answer_intervals` returns them: value `client_ids`.

    A broker that does not answer has no list from then on if another broker of the group answers meanwhile: clients
    cannot ask it either. One that refuses the collector may well answer clients, so its list holds until it is stale.

    Args:
        answers: frame of `member_answers`.
        day: the day.
        opening: `consumer_group`, `broker_name`, `client_ids`, `last_answer_ms` of the day before.
        max_staleness_ms: how long an answer holds at most.
    """
    is_down = F.col("is_silent") & (
        F.col("group_answers_ms") < F.coalesce("broker_answers_ms", F.lit(day.end_ms + max_staleness_ms))
    )
    following = answers.withColumns(
        {
            "group_answers_ms": _next_answer_ms("consumer_group"),
            "broker_answers_ms": _next_answer_ms(*_BROKER),
        }
    )
    return answer_intervals(following, _BROKER, "client_ids", day, opening, max_staleness_ms, ends=is_down)


def unheard(answers: DataFrame, day: Day, max_staleness_ms: int) -> DataFrame:
    """Intervals in which a broker was asked and said nothing of the group: `consumer_group`, `broker_name`, `cause`.

    Args:
        answers: as `member_answers` returns them.
        day: the day.
        max_staleness_ms: how long a capture counts at most.
    """
    cause = (
        F.when(F.col("has_answer"), _HEARD)
        .when(F.col("is_silent"), GroupCause.BROKERS_SILENT)
        .otherwise(GroupCause.BROKERS_REFUSE)
    )
    asked = answers.withColumn("cause", cause)
    nothing = asked.select(*_BROKER, "cause", F.col("captured_at_ms").alias("last_answer_ms")).limit(0)
    intervals = lasting(answer_intervals(asked, _BROKER, "cause", day, nothing, max_staleness_ms))
    return intervals.where(F.col("cause") != _HEARD).select(*_BROKER, "cause", "start_ms", "end_ms")


def _next_answer_ms(*keys: str) -> Column:
    """When the next capture with an answer is, of that instant or later; null = there is none."""
    backwards = Window.partitionBy(*keys).orderBy(
        F.desc("captured_at_ms"), F.desc("has_answer"), "broker_name", "is_silent"
    )
    answered_ms = F.when(F.col("has_answer"), F.col("captured_at_ms"))
    return F.min(answered_ms).over(backwards.rowsBetween(Window.unboundedPreceding, Window.currentRow))
