"""Whether Spark has the jars of the stores that a command names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.errors import PlatformError
from jobs.spark.failures import root_cause

_HOLDERS = {
    "org.apache.hadoop.fs.s3a.": "hadoop-aws",
    "software.amazon.awssdk.": "bundle (of the AWS SDK)",
    "software.amazon.s3.analyticsaccelerator.": "analyticsaccelerator-s3",
    "org.apache.hadoop.fs.azurebfs.": "hadoop-azure",
}
_SIGNS = ("ClassNotFoundException", "NoClassDefFoundError", "UnsupportedFileSystemException")


def check_stores(spark: SparkSession, uris: Iterable[str]) -> None:
    """Open the file system of each URI; one that fails otherwise than by a jar is left to who reads or writes.

    Raises:
        PlatformError: Spark lacks a jar.
    """
    for uri in [uri for uri in uris if ":/" in uri]:
        hadoop: Any = spark._jvm.org.apache.hadoop  # type: ignore[union-attr]
        try:
            hadoop.fs.Path(uri).getFileSystem(spark._jsc.hadoopConfiguration())
        except Py4JJavaError as error:
            why = root_cause(error)
            if any(sign in why for sign in _SIGNS):
                raise PlatformError(lacks_jar(uri, why, hadoop.util.VersionInfo.getVersion())) from error


def lacks_jar(uri: str, why: str, hadoop: str) -> str:
    """The sentence for a jar that Spark lacks.

    Args:
        uri: what it is needed for.
        why: Java's words; they name the class.
        hadoop: version of Hadoop.
    """
    holder = next((jar for package, jar in _HOLDERS.items() if package in why.replace("/", ".")), "one")
    module = "hadoop-azure" if holder == "hadoop-azure" else "hadoop-aws"
    return (
        f"{uri} needs the jar {holder}, which Spark lacks ({why}); set spark.jars.packages to"
        f" org.apache.hadoop:{module}:{hadoop}, or name it and what it needs in spark.jars"
    )
