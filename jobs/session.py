"""The Spark session: built here on one machine, taken as it is under `spark-submit`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from jobs.environment import check_environment
from jobs.errors import PlatformError
from jobs.jars import delta_jars

# What a run needs to be exact; set wherever it runs, a site's own settings cannot change them.
EXACT = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}

# What suits one machine; a site's `[spark]` settings win.
ONE_MACHINE = {
    "spark.master": "local[*]",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
}

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def open_session(spark_settings: Mapping[str, str]) -> SparkSession:
    """A session with Delta, after the machine has been checked.

    Under `spark-submit` the master, memory and jars are the submitter's; only what exactness needs is set.

    Args:
        spark_settings: the site's `[spark]` table.

    Raises:
        PlatformError: Java, Python, the packages or the Delta jars do not fit together.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    builder = SparkSession.builder.appName("faultline")
    if submitted:
        settings = {**DELTA, **spark_settings, **EXACT}
    else:
        check_environment()
        jars = ",".join(str(jar) for jar in delta_jars())
        settings = {**ONE_MACHINE, **DELTA, "spark.jars": jars, **spark_settings, **EXACT}
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    _check_delta(spark)
    return spark


def _check_delta(spark: SparkSession) -> None:
    loaded = spark._jvm.org.apache.spark.util.Utils.classIsLoadable("io.delta.tables.DeltaTable")  # type: ignore[union-attr]
    if not loaded:
        raise PlatformError(
            "the session has no Delta jars; give spark-submit --jars with delta-spark_4.2_2.13-4.4.0.jar and"
            " delta-storage-4.4.0.jar"
        )
