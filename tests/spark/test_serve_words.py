"""The words of a question: every function of this Spark and Delta has been looked at."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.serving.words import UNKNOWN, read_words


def _functions(spark: SparkSession) -> set[str]:
    """Names of all scalar, aggregate, window and table functions that a new session has."""
    state: Any = spark._jsparkSession.newSession().sessionState()
    listed = [state.functionRegistry().listFunction(), state.tableFunctionRegistry().listFunction()]
    return {names.apply(place).funcName() for names in listed for place in range(names.size())}


@pytest.mark.fault(37)
def test_each_function_is_allowed_or_refused_by_name(spark: SparkSession) -> None:
    words = read_words()
    assert words.functions & set(words.refused) == set()
    assert _functions(spark) == words.functions | set(words.refused)


def test_a_function_that_nobody_looked_at_is_refused() -> None:
    assert read_words().why_not("of_a_later_spark") == UNKNOWN
    assert read_words().why_not("sum") is None


@pytest.mark.fault(37)
def test_what_reaches_beyond_its_arguments_is_refused() -> None:
    refused = read_words().refused
    for name in ("from_xml", "schema_of_xml", "from_avro", "from_protobuf", "reflect", "table_changes_by_path"):
        assert name in refused
