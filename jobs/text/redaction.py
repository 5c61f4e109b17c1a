"""Secrets out of every text that leaves the program: errors, traces, plans, the run log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

HIDDEN = "…"
# Names of settings and variables with secrets; Spark's redaction uses it too.
SECRET_NAME = (
    r"(?i)secret|passw(or)?d|passphrase|passcode|passkey|token(?!i[sz])|credential|\bsas\b"  # noqa: S105 - a pattern
    r"|[._-]pass(?![a-z._-])|^-*pass([\"'=]|$)|(auth|user|db|key|store|root|admin|proxy)pass(?![a-z])|(?-i:[a-z]Pass(?![a-z]))"
    r"|[._-]pwd|(?-i:pwd|Pwd)"
    r"|(access|account|private|encryption|api|shared|signing|master)[._-]?key"
)

_SHORTEST = 6  # a shorter value, such as `true`, is not a secret and occurs in many texts
_NAME = re.compile(r"(?<![\w.-])[\w.-]+[\"']?\]?(?:\s*(?:->|[=:,])\s*|\s+is\s+)[\[({]*")
_VALUE = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"'&;,)\]}]+""")
_IN_URI = re.compile(r"(?P<name>://[^\s/@:'\"]*:)(?!\d+/)[^\s'\"]{0,500}(?=@)")  # a port is not a password
_IN_QUERY = re.compile(r"(?P<name>[?&;](?:sig|signature|x-amz-signature|pwd)=)[^&;\s'\"]+", re.IGNORECASE)
_BEARER = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a setting or an environment variable of this name holds a secret."""
    return re.search(SECRET_NAME, name) is not None


def secrets_of(values_by_name: Mapping[str, str]) -> set[str]:
    """The values whose names are secret, of Spark's settings or the environment; existing paths are not secrets.

    >>> secrets_of({"spark.driver.extraJavaOptions": "-Xss4m -Djavax.net.ssl.keyStorePassword=xyzzy1"})
    {'xyzzy1'}
    """
    secrets = {value for name, value in values_by_name.items() if is_secret(name)}
    secrets |= {text[start:end].strip("\"'") for text in values_by_name.values() for start, end in _named_values(text)}
    return {value for value in secrets if len(value) >= _SHORTEST and not os.path.exists(value)}  # noqa: PTH110 - any text


def redacted(text: str, secrets: Iterable[str] = (), *, named: bool = True) -> str:
    """The text without `secrets` and without what looks like one.

    Args:
        text: any.
        secrets: values to hide wherever they occur.
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
    """The text without what follows a secret's name; a name is looked at only once."""
    parts, at = [], 0
    for start, end in _named_values(text):
        quote = text[start] if text[start] in "\"'" else ""
        parts.append(f"{text[at:start]}{quote}{HIDDEN}{quote}")
        at = end
    return "".join([*parts, text[at:]])


def _named_values(text: str) -> Iterator[tuple[int, int]]:
    """Positions of the values that follow a secret's name, with their quotes."""
    at = 0
    for name in _NAME.finditer(text):
        if name.start() >= at and is_secret(name[0]) and (value := _VALUE.match(text, name.end())):
            yield value.span()
            at = value.end()
