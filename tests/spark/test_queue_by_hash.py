"""The selector by hash on columns: Java's hash of a text, and the queue it leads to under either rule."""

from __future__ import annotations

import pytest
from chispa import assert_column_equality
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from udfs.queue_by_hash import index_by_hash, string_hash

INT_MIN = -(2**31)


def test_hash_of_a_text_as_java_has_it(spark: SparkSession) -> None:
    rows = [
        ("", 0),
        ("a", 97),
        ("ab", 97 * 31 + 98),
        ("192.168.0.1@1-0", -770637656),
        ("polygenelubricants", INT_MIN),
        ("xfjfxte", 2**31 - 1),
        ("\U0001f680", 0xD83D * 31 + 0xDE80),  # a pair of surrogates
        ("\ufffd", 0xFFFD),
        (None, None),
    ]
    frame = spark.createDataFrame(rows, "order_key string, expected bigint")
    assert_column_equality(frame.withColumn("found", string_hash(F.col("order_key"))), "found", "expected")


@settings(max_examples=5, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=20, max_size=60))
def test_hash_of_any_text(spark: SparkSession, texts: list[str]) -> None:
    rows = [(text, _hash_code(text)) for text in texts]
    frame = spark.createDataFrame(rows, "order_key string, expected bigint")
    assert frame.where(~string_hash(F.col("order_key")).eqNullSafe(F.col("expected"))).collect() == []


def _hash_code(text: str) -> int:
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) % 2**32
    return value - 2**32 if value >= 2**31 else value


@pytest.mark.parametrize(
    ("version_number", "of_the_least_hash"),
    [(40000, None), (40701, None), (40800, 2), (50303, 2), (None, 2)],
)
def test_index_under_the_rule_of_each_version(
    spark: SparkSession, version_number: int | None, of_the_least_hash: int | None
) -> None:
    rows = [
        (7, 3, 1),
        (-7, 3, 1),
        (2**31 - 1, 8, 7),
        (INT_MIN, 3, of_the_least_hash),  # 4.7.1 throws for index -2
        (INT_MIN, 8, 0),  # no remainder, no sign
        (5, 0, None),
        (5, None, None),
        (None, 3, None),
    ]
    frame = spark.createDataFrame(rows, "code bigint, queues int, expected int")
    version = F.lit(version_number).cast("int")
    found = frame.withColumn("found", index_by_hash(F.col("code"), F.col("queues"), version))
    assert_column_equality(found, "found", "expected")
