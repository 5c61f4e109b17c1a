"""Heads of log lines as clients and applications write them: time, pid, logger, and where the message begins."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.given.rules import assert_rule
from udfs.log_layouts import (
    has_own_zone,
    head_of,
    is_of_another_logger,
    logged_at_ms,
    looks_like_an_entry,
    part_of,
)

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
TIME, COMMA, SECONDS = "2026-03-01 12:00:00.250", "2026-03-01 12:00:00,250", "2026-03-01 12:00:00"
M = "the consumer [G] start beginning. messageModel=CLUSTERING"
CLIENT = "RocketmqClient"
OWN = "[o.a.r.c.i.c.RebalanceImpl#?:?] - "

KNOWN: list[tuple[str, tuple[str, str]]] = [
    (f"{TIME} INFO  [71] [RebalanceService] {OWN}", ("71", "o.a.r.c.i.c.RebalanceImpl")),
    (f"{TIME} WARN  [1] [pool [2] thread] [o.a.r.c.MQ#start:95] - ", ("1", "o.a.r.c.MQ")),
    (f"{COMMA} INFO {CLIENT} - ", ("", CLIENT)),
    (f"{COMMA} INFO  {CLIENT}(95) - ", ("", CLIENT)),
    (f"{COMMA} WARN io.netty.util.internal.PlatformDependent0 - ", ("", "io.netty.util.internal.PlatformDependent0")),
    (f"{TIME} [main] INFO  {CLIENT} - ", ("", CLIENT)),
    (f"{TIME} [http-nio-8080-exec-1] DEBUG c.a.shop.OrderService:12 - ", ("", "c.a.shop.OrderService")),
    (f"{COMMA} [main] [trace=7f,span=] WARN  {CLIENT} : ", ("", CLIENT)),
    (f"{TIME}  INFO 23 --- [           main] {CLIENT}                           : ", ("23", CLIENT)),
    (f"{TIME}  WARN 1 --- [shop] [nio-80-exec-1] [7f2a-11] c.a.shop.Order : ", ("1", "c.a.shop.Order")),
    (f"2026-03-01T12:00:00.250Z  INFO 4711 --- [main] {CLIENT} : ", ("4711", CLIENT)),
    (f"2026-03-01T12:00:00.250+08:00  INFO 4711 --- [main] {CLIENT} : ", ("4711", CLIENT)),
    (f"{TIME} INFO [main:{CLIENT}] ", ("", CLIENT)),
    (f"{TIME} INFO  [main] {CLIENT}:95 - ", ("", CLIENT)),
    (f"{TIME} INFO  [main] {CLIENT} ", ("", CLIENT)),
    (f"{TIME} INFO [main] [{CLIENT}] - ", ("", "")),
    (f"{TIME} INFO [main] ", ("", "")),
    (f"{TIME} [INFO ] [main] {CLIENT} | ", ("", CLIENT)),
    (f"[{TIME}] [INFO] [main] {CLIENT} - ", ("", CLIENT)),
    (f"{TIME} INFO {CLIENT} [main] - ", ("", CLIENT)),
    (f"{TIME} INFO {CLIENT} [main] ", ("", CLIENT)),
    (f"{TIME} {CLIENT} [main] INFO - ", ("", "")),
    (f"{TIME} INFO main {CLIENT} - ", ("", CLIENT)),
    (f"{TIME} main INFO {CLIENT} - ", ("", CLIENT)),
    (f"{SECONDS} INFO main - ", ("", "main")),  # logback's of clients up to 4.2
    (f"{TIME} INFO {CLIENT} ", ("", CLIENT)),
    (f"{TIME} INFO ", ("", "")),
    (f"INFO  {COMMA} [main] {CLIENT} - ", ("", CLIENT)),
    (f"[INFO ] {TIME} {CLIENT} - ", ("", CLIENT)),
    (f"{TIME}|INFO|main|{CLIENT}| ", ("", CLIENT)),
    (f"2026/03/01 12:00:00.250 INFO {CLIENT} - ", ("", CLIENT)),
    (f"2026-03-01T12:00:01.123456789Z stdout F {COMMA} INFO {CLIENT} - ", ("", CLIENT)),
]
UNKNOWN = [
    f"12:00:00.250 [main] INFO {CLIENT} - {M}",  # no date
    f"2026-03-01 12:00 INFO {CLIENT} - {M}",
    f"INFO [main] {CLIENT} - {M}",
    f"Mar  1 12:00:00 host app[23]: INFO {CLIENT} - {M}",
    f"{{'time':'{TIME}','level':'INFO','message':'{M}'}}",
    f"{TIME} {CLIENT} - {M}",  # no level
]
GO_ON = [
    "",
    f"\tat {CLIENT}.start(Client.java:95)",
    f"  {COMMA} INFO {CLIENT} - {M}",
    "at c.a.Shop.main(Shop.java) 12:00:00",
    "Caused by: java.io.IOException: 12:00:00 ERROR",
    "... 12 more",
    "org.apache.rocketmq.client.exception.MQClientException: CODE: 17  DESC: No topic route info",
    "For more information, please visit the url, http://rocketmq.apache.org/docs/faq/",
    "}",
]


@pytest.mark.parametrize(
    "message", [M, "doRebalance, G, add a new mq, x", "Created a new client Instance, I:0", "x - y: z"]
)
def test_known_layouts(spark: SparkSession, message: str) -> None:
    """What follows a dash is the message, whatever it looks like; without one a message may look like a logger."""
    clear = [each for each in KNOWN if each[0].endswith(("- ", ": ", "| ")) or not message.startswith("x")]
    rows = [(f"{head}{message}", [*parts, message]) for head, parts in clear]
    head = head_of(F.col("raw"))
    parts = F.when(head.isNotNull(), F.array(*(part_of(head, each) for each in ("pid", "logger", "message"))))
    assert_rule(spark, parts, "raw string", rows, "array<string>")


def test_unknown_layouts_and_lines_that_go_on(spark: SparkSession) -> None:
    for lines, is_entry in ((UNKNOWN, True), (GO_ON, False)):
        rule = F.struct(head_of(F.col("raw")).isNotNull(), looks_like_an_entry(F.col("raw")))
        assert_rule(
            spark, rule, "raw string", [(line, (False, is_entry)) for line in lines], "struct<a:boolean,b:boolean>"
        )


@pytest.mark.fault(21)
def test_when_a_line_was_written(spark: SparkSession) -> None:
    comma, own = f"{COMMA} INFO {CLIENT} - x", f"2026-03-01 20:00:00.250 INFO  [7] [a] {OWN}x"
    repeated = f"2026-03-01 12:00:09,009 INFO {CLIENT} - x"
    rows = [
        (comma, "4.9.8", None, NOON + 250),
        (comma, None, "UTC", NOON + 250),
        (comma, None, "Asia/Shanghai", NOON + 250 - 8 * 3_600_000),
        (comma, "4.9.8", "America/New_York", NOON + 250 + 5 * 3_600_000),
        (comma.replace("03-01", "07-01"), None, "America/New_York", 1_782_921_600_250),  # 16:00 UTC: summer
        # A time that the clocks leave out is an hour later; one that comes twice is the earlier.
        (f"2026-03-08 02:30:00,000 INFO {CLIENT} - x", None, "America/New_York", 1_772_955_000_000),  # 07:30 UTC
        (f"2026-11-01 01:30:00,000 INFO {CLIENT} - x", None, "America/New_York", 1_793_511_000_000),  # 05:30 UTC
        (own, None, None, NOON + 250),
        (own, "5.3.3", "America/New_York", NOON + 250),
        # A dot alone says no zone, nor do brackets.
        (comma.replace(",", "."), None, "Europe/Berlin", NOON + 250 - 3_600_000),
        (f"{TIME} INFO  [7] [a] [b] - x", "5.3.3", None, NOON + 250),
        (f"{TIME} INFO  [7] [a] [b] - x", "5.3.3", "Europe/Berlin", NOON + 250 - 3_600_000),
        ("2026-03-01T12:00:00.250Z INFO x - x", None, "Europe/Berlin", NOON + 250),
        ("2026-03-01T20:00:00.250+08:00 INFO x - x", None, "Europe/Berlin", NOON + 250),
        ("2026-03-01T06:30:00,250-0530 INFO x - x", None, None, NOON + 250),
        ("2026-03-01 20:00:00.250 GMT+08 INFO x - x", None, None, NOON + 250),
        ("2026-03-01T12:00:00.250999Z INFO x - x", None, None, NOON + 250),
        (f"{SECONDS} INFO main - x", None, None, NOON + 500),
        (repeated, "4.7.1", None, NOON + 9_500),
        (repeated, "V4_3_0", "UTC", NOON + 9_500),
        (repeated, "4.8.0", None, NOON + 9_009),
        (repeated, "4.2.0", None, NOON + 9_009),
        (repeated, "latest", None, NOON + 9_009),
        # Of 4.4.0 by another layout: milliseconds.
        (f"2026-03-01 12:00:09.009 INFO [main] {CLIENT} - x", "4.4.0", None, NOON + 9_009),
        (f"2026-03-01 12:00:09,250 INFO {CLIENT} - x", "4.4.0", None, NOON + 9_250),
        (f"2026-02-30 12:00:00,250 INFO {CLIENT} - x", None, None, None),
        (f"2026-03-01 24:00:00.250 INFO  [7] [a] {OWN}x", None, None, None),
        ("\tat java.lang.Thread.run(Thread.java:750)", "4.7.1", "UTC", None),
        ("", None, None, None),
        (None, "4.7.1", "UTC", None),
    ]
    rule = logged_at_ms(head_of(F.col("raw")), F.col("client_version"), F.col("time_zone"))
    assert_rule(spark, rule, "raw string, client_version string, time_zone string", rows, "bigint")


def test_lines_that_say_their_zone(spark: SparkSession) -> None:
    rows = [
        (f"{TIME} INFO  [7] [a] {OWN}x", True),
        (f"2026-03-01T12:00:00.250Z INFO {CLIENT} - x", True),
        (f"{TIME} INFO  [7] [a] [b] - x", False),
        (f"{COMMA} INFO {CLIENT} - x", False),
        ("", None),
    ]
    assert_rule(spark, has_own_zone(head_of(F.col("raw"))), "raw string", rows, "boolean")


def test_other_loggers(spark: SparkSession) -> None:
    rows = [
        (f"{COMMA} INFO {CLIENT} - x", False),
        (f"{COMMA} INFO RocketmqRemoting - x", False),
        (f"{TIME} INFO [main] org.apache.rocketmq.client.X - x", False),
        (f"{TIME} INFO  [7] [a] {OWN}x", False),
        (f"{TIME} INFO [main] - x", False),  # the layout writes none
        (f"{TIME} INFO [main] c.a.shop.Orders - x", True),
        (f"{COMMA} DEBUG io.netty.util.NetUtil - x", True),
        ("", None),
    ]
    assert_rule(spark, is_of_another_logger(head_of(F.col("raw"))), "raw string", rows, "boolean")
