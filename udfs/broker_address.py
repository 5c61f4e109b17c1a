"""Addresses of brokers, `host:port`: one form of each, and those that an exception's text names."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

VIP_PORT_BELOW = 2
"""`MixAll.brokerVIPChannel`: up to 4.4.0 a send goes to the port two below the broker's own by default."""

_IN_TEXT = (
    r"(?<=<|addr\[|BROKER: )(?:\[[^\]]+\]|[^<>\[\]\s/]+):\d+"  # any host, where the client says an address
    r"|\[[0-9A-Fa-f:.]+(?:%\w+)?\]:\d+"
    r"|(?<![\w.:])(?=(?:[0-9A-Fa-f.]*:){4})[0-9A-Fa-f:.]+:\d+"  # IPv6 as Java writes it, the port after it
    r"|(?<![\d.])\d+\.\d+\.\d+\.\d+:\d+"
)


def one_form(address: Column) -> Column:
    """The address in the one form of it: small letters, IPv6 long and without brackets or zone.

    Examples:
        >>> forms = ["[2001:DB8::12]:10911", "2001:db8:0:0:0:0:0:12:10911", "[::ffff:10.0.0.1]:1", "Broker-0.svc:10911"]
        >>> frame = spark.createDataFrame([(form,) for form in [*forms, None]], "address string")
        >>> [row[0] for row in frame.select(one_form(F.col("address"))).collect()]
        ['2001:db8:0:0:0:0:0:12:10911', '2001:db8:0:0:0:0:0:12:10911', '10.0.0.1:1', 'broker-0.svc:10911', None]
    """
    text = F.lower(F.trim(address))
    host = F.regexp_replace(F.regexp_replace(text, r":\d*$", ""), r"^\[|%[^\]]*|\]$", "")
    host = F.regexp_replace(host, r"^(?:::|(?:0+:){5})ffff:(?=\d+\.)", "")
    zeros = F.repeat(F.lit("0:"), F.lit(8) - F.regexp_count(host, F.lit("[0-9a-f]+")))
    long = F.regexp_replace(F.replace(host, F.lit("::"), F.concat(F.lit(":"), zeros)), "^:|:$", "")
    plain = F.regexp_replace(long, "(^|:)0+(?=[0-9a-f])", "$1")
    form = F.when(host.contains(":"), plain).otherwise(host)
    return F.when(~text.rlike(r"^\[|:.*:"), text).otherwise(
        F.concat(form, F.lit(":"), F.substring_index(text, ":", -1))
    )


def with_port_off(address: Column, by: int) -> Column:
    """The address with another port; null where it has none."""
    port = F.substring_index(address, ":", -1).try_cast("int") + by
    return F.concat(F.regexp_replace(address, r"\d*$", ""), port.cast("string"))


def last_address_in(text: Column) -> Column:
    """The last address in an exception's text, in its one form; null for none.

    Examples:
        >>> texts = ["connect to <broker-0.svc:10911> failed", "</10.0.0.9:5000> BROKER: 10.0.0.1:10911", "at 08:26:00"]
        >>> frame = spark.createDataFrame([(text,) for text in texts], "error string")
        >>> [row[0] for row in frame.select(last_address_in(F.col("error"))).collect()]
        ['broker-0.svc:10911', '10.0.0.1:10911', None]
    """
    return one_form(F.try_element_at(F.regexp_extract_all(text, F.lit(_IN_TEXT), 0), F.lit(-1)))
