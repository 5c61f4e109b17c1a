"""Facts of client releases, from `conf/releases.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.plain_version import plain_version_number


def since(fact: str) -> int:
    """The first release with the fact, as a number of `udfs.version`.

    >>> since("async_retry_inside_submit")
    40903
    """
    return _releases(fact)[0]


def holds(fact: str, version_number: Column) -> Column:
    """Whether the fact holds for the release; null for null.

    >>> frame = spark.createDataFrame([(40907,), (40908,), (50000,), (None,)], "version int")
    >>> [row[0] for row in frame.select(holds("fallback_checks_permission", F.col("version"))).collect()]
    [False, True, False, None]
    """
    first, last = _releases(fact)
    return version_number >= first if last is None else version_number.between(F.lit(first), F.lit(last))


def _releases(fact: str) -> tuple[int, int | None]:
    given = _facts()[fact]
    return plain_version_number(given["since"]), plain_version_number(given["until"]) if "until" in given else None


@cache
def _facts() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("conf").joinpath("releases.toml").read_text(encoding="utf-8"))
