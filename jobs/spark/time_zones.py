"""Time zones in the settings, checked in the session: Java has its own list, and Python's may be longer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import DateTimeException
from pyspark.sql import SparkSession

from jobs.errors import SettingValueError
from jobs.settings.consumer_groups import ClientLogSettings


def check_time_zones(spark: SparkSession, client_logs: Mapping[str, ClientLogSettings]) -> None:
    """Refuse a zone unknown to Spark, which would fail at the first line of such a log.

    Args:
        spark: the session.
        client_logs: the setting of that name.

    Raises:
        SettingValueError: the Java of the session does not know one of the zones.
    """
    for logs, of_logs in client_logs.items():
        if of_logs.time_zone is not None and not _is_known(spark, of_logs.time_zone):
            raise SettingValueError(
                f"[client_logs.{logs}] time_zone {of_logs.time_zone!r} is unknown to the Java that Spark runs on;"
                " give another name of the zone, or run with a newer Java"
            )


def _is_known(spark: SparkSession, zone: str) -> bool:
    jvm: Any = spark._jvm
    try:
        jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(zone)
    except DateTimeException:
        return False
    return True
