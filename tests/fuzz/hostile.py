"""Names, texts and numbers that would rather be SQL, a path, a variable, a command of the terminal or a bomb."""

from __future__ import annotations

import json
import os
from random import Random
from typing import Any

CANARY_NAME = "FAULTLINE_FUZZ_CANARY"
CANARY = "canary-7f3b9c-of-the-environment"

LONG_MAX, LONG_MIN, INT_MAX, INT_MIN = 2**63 - 1, -(2**63), 2**31 - 1, -(2**31)
FIRST_TIME_MS, LAST_TIME_MS = 1_420_070_400_000, 4_102_444_800_000  # 2015 and 2100, as the docs have them

_VARIABLES = (
    "${env:%s}", "$%s", "${%s}", "%%%s%%", "{{%s}}", "${hiveconf:%s}", "${system:%s}", "${spark:%s}", "`echo $%s`",
    "${sys:%s:-x}", "${jndi:ldap://127.0.0.1/${env:%s}}", "#{%s}",
)  # fmt: skip
_NAMES = (
    "", " ", "\t", ".", "..", "../../outside", "/etc/passwd", "file:///etc/hosts", "%2e%2e%2f", "a=b/c=d", "_staging",
    "_delta_log", "__HIVE_DEFAULT_PARTITION__", "null", "NULL", "None", "true", "NaN", "0", "-1", "1e308", "=1+1",
    "'; DROP TABLE sends; --", "a' OR '1'='1", '`"', "x\\", "\\'", "\\N", "%s%n$1{0}", "[a-z]*", "a,b", 'a"b', "a\nb",
    "a\rb", "\x00", "a\x1b[31mb", "\x7f", "\u0085\u2028\u2029", "\u202e\u2066rtl\u2069", "e\u0301\u0323" * 8,
    "👩‍👩‍👧‍👦",
    "集群-ü-\u0131-İ-ß-ﬃ", "\ufeff", "\ufffe", "\ud800", "a\udfffb", "\U0010ffff",
    "<script>alert(1)</script>",
    "{{7*7}}", "${7*7}", "C:\\x", "con", "a" * 10_000, "😀" * 3_000, "(" * 2_000, "a:b@c#1", "%RETRY%g", "%DLQ%g",
)  # fmt: skip
_NUMBERS = (
    *(0, -1, 1, 7, 255, 4711, 86_400_000, 86_400_001, INT_MAX, INT_MIN, INT_MAX + 1),
    *(LONG_MAX, LONG_MIN, LONG_MAX + 1, LONG_MIN - 1, 10**30, 10**400, 1.0, 1.5, -0.0, 1e15, 1e300, 1e-300),
    *(FIRST_TIME_MS, FIRST_TIME_MS - 1, LAST_TIME_MS, LAST_TIME_MS + 1, 1_795_262_400),
)


def name(random: Random) -> str:
    """A text where a name is expected, now and then one that names a variable of the environment."""
    if random.random() < 0.2:
        variable = random.choice((CANARY_NAME, "PATH", "HOME"))
        return random.choice(_VARIABLES).replace("%%", "%").replace("%s", variable)
    return random.choice(_NAMES)


def number(random: Random) -> int | float:
    """A number at an edge, or any."""
    if random.random() < 0.7:
        return random.choice(_NUMBERS)
    return random.randint(-(10 ** random.randint(1, 22)), 10 ** random.randint(1, 22))


def value(random: Random) -> Any:
    """Any value of JSON."""
    kind = random.randrange(9)
    if kind < 3:
        return name(random)
    if kind < 6:
        return number(random)
    return random.choice((None, True, False, [], {}, [1, "a"], {"a": {"b": None}}, [[[]]], ["\u0000", None]))


def nested(depth: int) -> str:
    """JSON of objects and arrays, one in the other."""
    return '{"a":[' * depth + "]}" * depth


def environment_in(text: str) -> list[str]:
    """Values of the environment that stand in the text: the one that was planted, and PATH."""
    values = {CANARY_NAME: CANARY, "PATH": os.environ.get("PATH", "")}
    shown = {variable: {value, json.dumps(value)[1:-1]} for variable, value in values.items() if len(value) > 12}
    return [variable for variable, forms in shown.items() if any(form in text for form in forms)]
