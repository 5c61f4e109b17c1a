"""Topic routes as the name server tells them: which broker answers at which address."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.sources.files import Manifest

_LINE = "captured_at_ms BIGINT, topic STRING, code INT, body STRING"
_BODY = (
    "brokerDatas ARRAY<STRUCT<brokerName: STRING, cluster: STRING, brokerAddrs: MAP<STRING, STRING>>>,"
    " queueDatas ARRAY<STRUCT<brokerName: STRING, perm: INT, readQueueNums: INT, writeQueueNums: INT>>"
)


def read_routes(spark: SparkSession, manifest: Manifest) -> DataFrame:
    """One row per answer of the name server: `captured_at_ms`, `topic`, `route` (null = no answer in the line).

    The body is strict JSON for new clients; older ones are answered with unquoted numeric keys.
    """
    line = F.from_json("value", _LINE)
    text = spark.read.option("recursiveFileLookup", "true").option("lineSep", "\n").text(manifest.readable_paths)
    answers = text.select(line.alias("line")).where("line.topic IS NOT NULL AND line.captured_at_ms IS NOT NULL")
    route = F.from_json("line.body", _BODY, {"allowUnquotedFieldNames": "true"})
    return answers.select("line.captured_at_ms", "line.topic", route.alias("route"))


def broker_names(routes: DataFrame) -> DataFrame:
    """`broker_addr` → `routed_broker_name`: the name that the latest answer gives the address."""
    brokers = routes.select("captured_at_ms", "topic", F.explode("route.brokerDatas").alias("broker"))
    addresses = brokers.select(
        "captured_at_ms", "topic", F.col("broker.brokerName").alias("routed_broker_name"),
        F.explode("broker.brokerAddrs").alias("broker_id", "broker_addr"),
    )
    latest = Window.partitionBy("broker_addr").orderBy(
        F.desc("captured_at_ms"), "topic", "routed_broker_name", "broker_id"
    ).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        addresses.withColumn("place", F.row_number().over(latest)).where("place = 1")
        .select("broker_addr", "routed_broker_name")
    )
