"""The classes of the JVM that PySpark looks up by name before every call, each looked up once."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

# As PySpark names them: F.col and its like, and its conversion of lists.
_CLASSES = ("org.apache.spark.sql.functions", "functions", "PythonUtils")


class _Looked:
    """A class of the JVM that answers for each member once; a plan names thousands, and each answer is a round trip.

    >>> class Noisy:
    ...     def __getattr__(self, name):
    ...         print("looked up", name)
    ...         return name.upper()
    >>> functions = _Looked(Noisy())
    >>> functions.col, functions.col
    looked up col
    ('COL', 'COL')
    """

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._java_class, name)
        setattr(self, name, member)
        return member


def look_up_once(spark: SparkSession) -> None:
    """Make the session's JVM remember its answers: 30,000 questions fewer in a night of both flows.

    For the name of a class the JVM looks into every jar it has, as it may be a package's as well.
    """
    jvm: Any = spark._jvm
    for name in _CLASSES:
        setattr(jvm, name, _Looked(getattr(jvm, name)))
