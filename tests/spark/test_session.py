"""The JVM that a run on one machine starts, and the session that it works in."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from jobs.spark.session import EXACT, open_session
from jobs.text.redaction import SECRET_NAME, is_secret


def test_a_sites_java_options_come_on_top_of_ours(spark: SparkSession) -> None:
    factory = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    given = list(factory.getRuntimeMXBean().getInputArguments())
    assert {"-XX:+UseParallelGC", "-Dsite=tests"} <= set(given)


@pytest.mark.fault(37)
def test_no_text_of_sql_is_replaced_by_a_variables_value(spark: SparkSession) -> None:
    assert "HOME" in os.environ
    row = spark.sql("SELECT '${env:HOME}' AS home, '${system:user.home}' AS java, '${spark.app.name}' AS app").first()
    assert row is not None
    assert tuple(row) == ("${env:HOME}", "${system:user.home}", "${spark.app.name}")


@pytest.mark.fault(37)
def test_a_session_that_spark_submit_has_made_gets_what_exactness_needs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in EXACT.items():
        spark.conf.set(name, {"true": "false", "false": "true", "UTC": "Asia/Shanghai"}[value])
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    try:
        found = open_session({"spark.sql.variable.substitute": "true"})
        assert {name: found.conf.get(name) for name in EXACT} == EXACT
    finally:
        for name, value in EXACT.items():
            spark.conf.set(name, value)


@pytest.mark.fault(42)
def test_spark_hides_what_we_hide_and_what_a_site_hides_besides(spark: SparkSession) -> None:
    names = ["a.auth.pass", "a.passphrase", "aPwd", "dbPass", "pwd", "a.token", "storepass", "PWD", "bypass", "compass",
             "tokenizer", "passive", "two.pass.sort", "pass", "spark.sql.shuffle.partitions"]  # fmt: skip
    java = spark._jvm.java.util.regex.Pattern.compile(SECRET_NAME)  # type: ignore[union-attr]
    assert [name for name in names if java.matcher(name).find()] == [name for name in names if is_secret(name)]
    assert spark.conf.get("spark.redaction.regex") == SECRET_NAME
