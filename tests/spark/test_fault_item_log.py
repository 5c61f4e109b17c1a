"""Lines of client logs on fault items: which they are, what they say, and which break off."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from udfs.fault_item_log import fault_item_event, fault_item_fields, fault_item_message, is_broken_off
from udfs.log_layouts import head_of, part_of

# As 5.1.4 and 5.3.3 wrote them, but for the client's configuration, which is longer.
HEAD = "2026-11-21 08:30:21.211 INFO  [16632] [send-custom-sync-0] [o.a.r.c.l.MQFaultStrategy#?:?] - "
CREATED = "Created a new client Instance, InstanceIndex:1, ClientID:10.0.0.1@4711, ClientConfig:ClientConfig [a=b]"
NAMES = ("event", "broken_off", "broker_name", "not_available_ms", "client_id", "client_version")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (f"{HEAD}broker-b will be isolated for 120 ms.", ("ISOLATED", False, "broker-b", 120, None, None)),
        (f"{HEAD}b 1 will be isolated for 0 ms.", ("ISOLATED", False, "b 1", 0, None, None)),
        (
            f"{HEAD}broker-a is unreachable, it will not be used until it's reachable",
            ("UNREACHABLE", False, "broker-a", None, None, None),
        ),
        (
            f"{HEAD}broker-a is reachable now, then it can be used.",
            ("REACHABLE", False, "broker-a", None, None, None),
        ),
        (
            f"{HEAD}{CREATED}, ClientVersion:V5_3_3, SerializerType:JSON",
            ("INSTANCE", False, None, None, "10.0.0.1@4711", "5.3.3"),
        ),
        (f"{HEAD}{CREATED}, ClientVersion:HIGHER", ("INSTANCE", False, None, None, "10.0.0.1@4711", None)),
        (f"{HEAD}{CREATED}", ("INSTANCE", False, None, None, "10.0.0.1@4711", None)),
        # It breaks off, runs into another line, or has no number.
        (f"{HEAD}broker-b will be isolated for 12", (None, True, None, None, None, None)),
        (f"{HEAD}broker-b will be isolated for 120 ms.{HEAD}x", (None, True, None, None, None, None)),
        (f"{HEAD}broker-b will be isolated for -1 ms.", (None, True, None, None, None, None)),
        (f"{HEAD} will be isolated for 120 ms.", (None, True, None, None, None, None)),
        (f"{HEAD}broker-b is unreachable, it will not", (None, None, None, None, None, None)),
        (f"{HEAD}broker-b is unreachable, it will not be", (None, True, None, None, None, None)),
        # Others, and a message of the same words that is none of a client's.
        (f"{HEAD}the consumer [CG] start beginning.", (None, None, None, None, None, None)),
        ("at org.apache.rocketmq.client.Any.any(Any.java:1)", (None, None, None, None, None, None)),
        (None, (None, None, None, None, None, None)),
    ],
)
def test_lines(spark: SparkSession, raw: str | None, expected: tuple[object, ...]) -> None:
    lines = spark.createDataFrame([(raw,)], "raw string").withColumn("head", head_of(F.col("raw")))
    lines = lines.withColumn("message", fault_item_message(part_of(F.col("head"), "message")))
    lines = lines.withColumn("event", fault_item_event(F.col("message")))
    fields = fault_item_fields(F.col("message"), F.col("event"))
    broken = is_broken_off(F.col("message"), F.col("event"))
    (row,) = lines.withColumns({**fields, "broken_off": broken}).select(*NAMES).collect()
    assert tuple(row) == expected
