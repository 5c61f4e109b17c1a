"""The JVM that a run on one machine starts."""

from __future__ import annotations

from pyspark.sql import SparkSession


def test_a_sites_java_options_come_on_top_of_ours(spark: SparkSession) -> None:
    factory = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    given = list(factory.getRuntimeMXBean().getInputArguments())
    assert {"-XX:+UseParallelGC", "-Dsite=tests"} <= set(given)
