"""JSON with objects as keys: fastjson's way to write a map keyed by `MessageQueue`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

KEY_SEPARATOR = "\x1f"


def _has(name: str, value: str) -> str:
    """The object that begins here has the field, wherever in it; names hold no braces."""
    return rf'(?=[^{{}}]*?"{name}"\s*+:\s*+{value})'


_NAME = r'"((?:[^"\\{}]|\\.)*+)"'
_PARTS = _has("brokerName", _NAME) + _has("queueId", r"(-?\d+)") + _has("topic", _NAME)
_NAMED = r"([^\"\\,]*)"
_TEXT_KEY = rf'"MessageQueue \[topic={_NAMED}, brokerName={_NAMED}, queueId=(-?\d+)\]"\s*+:'
"""As `MessageQueue.toString` has it: what every other library than fastjson writes for such a map."""
_QUEUE_KEY = rf"\{{{_PARTS}[^{{}}]*+\}}\s*+:"


def standard_json(body: Column) -> Column:
    r"""The text with every message queue key as one string: broker name, queue id and topic.

    The three parts are separated by U+001F, which none of them can hold. `ConsumerRunningInfo.encode`, 4.0.0 to 5.5.0;
    printed over many lines, and with the parts in any order, it is the same.

    Examples:
        >>> text = '{"t":{{"brokerName":"a","queueId":0,"topic":"T"}:{"x":1}}}'
        >>> frame = spark.createDataFrame([(text,), (None,)], "b string")
        >>> frame.select(standard_json(F.col("b")).alias("json")).first().json
        '{"t":{"a\\u001f0\\u001fT":{"x":1}}}'
        >>> spaced = '{"t": {\n\t{ "topic" : "T",\n "queueId": 0, "brokerName": "a" } : {"x": 1}}}'
        >>> spark.createDataFrame([(spaced,)], "b string").select(standard_json(F.col("b"))).first()[0]
        '{"t": {\n\t"a\\u001f0\\u001fT": {"x": 1}}}'
        >>> text = '{"t":{"MessageQueue [topic=T, brokerName=a, queueId=0]":{"x":1}}}'
        >>> spark.createDataFrame([(text,)], "b string").select(standard_json(F.col("b"))).first()[0]
        '{"t":{"a\\u001f0\\u001fT":{"x":1}}}'
    """
    by_object = F.regexp_replace(body, _QUEUE_KEY, r'"$1\\u001f$2\\u001f$3":')
    return F.regexp_replace(by_object, _TEXT_KEY, r'"$2\\u001f$3\\u001f$1":')
