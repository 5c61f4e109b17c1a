"""Secrets out of every text that leaves the program: errors, traces, plans, the run log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

HIDDEN = "…"
# How settings and variables that hold a secret are called; Spark hides by it too.
SECRET_NAME = (
    r"(?i)secret|passw(or)?d|[._-]pwd|token|credential|\bsas\b|(access|account|private|encryption|api)[._-]?key"  # noqa: S105 - a pattern
)

_SHORTEST = 6  # a shorter value, such as `true`, is no secret and stands in many texts
_NAME = re.compile(r"(?<![\w.-])[\w.-]+[\"']?\]?(?:\s*(?:->|[=:,])\s*|\s+is\s+)[\[({]*")
_VALUE = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"'&;,)\]}]+""")
_IN_URI = re.compile(r"(?P<name>://[^\s/@:'\"]*:)(?!\d+/)[^\s'\"]{0,500}(?=@)")  # a port is no password
_IN_QUERY = re.compile(r"(?P<name>[?&;](?:sig|signature|x-amz-signature|pwd)=)[^&;\s'\"]+", re.IGNORECASE)
_BEARER = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a setting or an environment variable of this name holds a secret."""
    return re.search(SECRET_NAME, name) is not None


def secrets_of(named: Mapping[str, str]) -> set[str]:
    """The values that are secret by their names, of Spark's settings or the environment; a path that exists is none."""
    return {
        value
        for name, value in named.items()
        if is_secret(name) and len(value) >= _SHORTEST and not os.path.exists(value)  # noqa: PTH110 - takes any text
    }


def redacted(text: str, secrets: Iterable[str] = (), *, named: bool = True) -> str:
    """The text without `secrets` and without what looks like one.

    Args:
        text: any.
        secrets: values to hide wherever they stand.
        named: hide what follows the name of a secret, too.

    >>> redacted("spark.hadoop.fs.s3a.secret.key = 'abc/d+e', s3a://AKIA:abc/d+e@bucket/lake")
    "spark.hadoop.fs.s3a.secret.key = '…', s3a://AKIA:…@bucket/lake"
    >>> redacted("hdfs://namenode:8020/lake of abfss://container@account/lake")
    'hdfs://namenode:8020/lake of abfss://container@account/lake'
    """
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern in (_IN_URI, _IN_QUERY, _BEARER):
        text = pattern.sub(rf"\g<name>{HIDDEN}", text)
    return _without_named(text) if named else text


def _without_named(text: str) -> str:
    """The text without what follows a secret's name; a name is judged once, whatever its length."""
    kept, at = [], 0
    for name in _NAME.finditer(text):
        if name.start() >= at and is_secret(name[0]) and (value := _VALUE.match(text, name.end())):
            quote = value[0][0] if value[0][0] in "\"'" else ""
            kept.append(f"{text[at : value.start()]}{quote}{HIDDEN}{quote}")
            at = value.end()
    return "".join([*kept, text[at:]])
