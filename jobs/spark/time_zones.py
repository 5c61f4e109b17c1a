"""Time zones in the settings, checked in the session: Java has its own list, and Python's may be longer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import DateTimeException
from pyspark.sql import SparkSession

from jobs.errors import SettingValueError
from jobs.settings.consumer_groups import ClientLogSettings
from jobs.settings.inputs import SendsInput


def check_time_zones(
    spark: SparkSession, client_logs: Mapping[str, ClientLogSettings], sends: SendsInput | None = None
) -> None:
    """Refuse a zone that Spark could not convert a time of: no line of such a log would be of use.

    Args:
        spark: the session.
        client_logs: the setting of that name.
        sends: `[inputs.sends]`; None where no sends are read.

    Raises:
        SettingValueError: the Java of the session does not know one of the zones.
    """
    zones = [(f"client_logs.{logs}", of_logs.time_zone) for logs, of_logs in client_logs.items()]
    if sends:
        zones += [("inputs.sends", sends.time_zone)]
        zones += [(f"inputs.sends.fields.{name}", source.time_zone) for name, source in sends.fields.items()]
    for setting, zone in zones:
        if zone is not None and not _is_known(spark, zone):
            raise SettingValueError(
                f"[{setting}] time_zone {zone!r} is unknown to the Java that Spark runs on;"
                " give another name of the zone, or run with a newer Java"
            )


def _is_known(spark: SparkSession, zone: str) -> bool:
    jvm: Any = spark._jvm
    try:
        jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(zone)
    except DateTimeException:
        return False
    return True
