"""JSON with objects as keys: fastjson's way to write a map keyed by `MessageQueue`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

KEY_SEPARATOR = "\x1f"
_TEXT = r'"((?:[^"\\]|\\.)*+)"'
_QUEUE_KEY = rf'\{{"brokerName":{_TEXT},"queueId":(-?\d+),"topic":{_TEXT}\}}:'


def standard_json(body: Column) -> Column:
    r"""The text with every message queue key as one string: broker name, queue id and topic.

    The parts are separated by U+001F, which none of them can contain. `ConsumerRunningInfo.encode`, 4.0.0 to 5.5.0;
    fastjson sorts a bean's fields by name.

    Examples:
        >>> text = '{"t":{{"brokerName":"a","queueId":0,"topic":"T"}:{"x":1}}}'
        >>> frame = spark.createDataFrame([(text,), (None,)], "b string")
        >>> frame.select(standard_json(F.col("b")).alias("json")).first().json
        '{"t":{"a\\u001f0\\u001fT":{"x":1}}}'
    """
    return F.regexp_replace(body, _QUEUE_KEY, r'"$1\\u001f$2\\u001f$3":')
