"""Members of each consumer group over the day, as each broker reports them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from jobs.allocation.answer_intervals import answer_intervals
from jobs.tables.day import Day


def member_lists(answers: DataFrame, day: Day, opening: DataFrame, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal member lists per group and broker, as `answer_intervals` returns them: value `client_ids`.

    Args:
        answers: frame of `member_answers`.
        day: the day.
        opening: `consumer_group`, `broker_name`, `client_ids`, `last_answer_ms` of the day before.
        max_staleness_ms: how long an answer holds at most.
    """
    return answer_intervals(answers, ["consumer_group", "broker_name"], "client_ids", day, opening, max_staleness_ms)
