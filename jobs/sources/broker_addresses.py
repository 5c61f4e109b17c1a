"""Addresses of brokers and their names, looked up in one form and by the VIP port."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from udfs.broker_address import with_port_off


def with_other_port(names: DataFrame, by: int) -> DataFrame:
    """The addresses, and each once more with its port off by so much where nobody has that address.

    Args:
        names: one row per `broker_addr`, in its one form, within what other keys it has.
        by: added to the port.
    """
    keys = [name for name in names.columns if name in ("cluster", "broker_addr")]
    moved = names.withColumn("broker_addr", with_port_off(F.col("broker_addr"), by)).where("broker_addr IS NOT NULL")
    return names.unionByName(moved.join(names, keys, "left_anti"))
