"""Replaces a day of a cluster in one Delta transaction, if Delta lists the files of the day.

While a table has few files, Delta lists them with their min and max cluster in the checksum of a commit (`.crc`). So,
unlike `replaceWhere`, the swap plans no delete and opens no file. It conflicts with concurrent writers that add files
of the day, as `replaceWhere` does.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from jobs.lake.noted_files import noted_files


class DaySwap:
    """An open transaction on one table.

    Attributes:
        before: table version at the start.
    """

    def __init__(self, spark: SparkSession, path: str, where: str, user_metadata: str) -> None:
        """Start the transaction.

        Args:
            spark: the session.
            path: path of the table.
            where: condition that all new rows fulfil.
            user_metadata: metadata of the commit.
        """
        jvm: Any = spark._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)  # Delta uses the thread's
        self._jvm, self._session, self._where, self._user_metadata = jvm, spark._jsparkSession, where, user_metadata
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        self._transaction = log.startTransaction()
        self.before: int = self._transaction.snapshot().version()

    def files_of(self, cluster: str, day: dt.date) -> list[Any] | None:
        """Files with rows of only this day and cluster; None if unknown."""
        noted = noted_files(self._jvm, self._transaction.snapshot())
        if noted is None:
            return None
        files = []
        for file, added in noted:
            if file["partitionValues"]["event_date"] == day.isoformat():
                is_its = only_of(cluster, file["stats"])
                if is_its is None:
                    return None
                if is_its:
                    files.append(added())
        return files

    def as_stored(self, rows: DataFrame) -> DataFrame | None:
        """The rows with columns in the table's order; None if they are not the table's columns."""
        stored = StructType.fromJson(json.loads(self._transaction.metadata().schema().json()))
        columns = [(field.name, field.dataType.simpleString()) for field in stored]
        if sorted(columns) != sorted(rows.dtypes):
            return None
        return rows if columns == rows.dtypes else rows.select(*stored.fieldNames())

    def commit(self, rows: DataFrame, replaced: Sequence[Any], day: dt.date, check: Callable[[], None]) -> None:
        """Replace the files with the day's rows; commits nothing if there are neither.

        Args:
            rows: the day's.
            replaced: files that hold it now.
            day: the day.
            check: called when the rows are written, just before they are committed; may raise.
        """
        delta = self._jvm.org.apache.spark.sql.delta
        self._transaction.trackReadPredicates(_seq(self._jvm, [self._parsed(of_day(day))]), True, True)
        self._transaction.trackFilesRead(_seq(self._jvm, replaced))
        each_row = getattr(delta.constraints, "Constraints$Check")(self._where, self._parsed(self._where))
        written = self._transaction.writeFiles(
            rows._jdf,  # noqa: SLF001 - what Delta takes
            _seq(self._jvm, [each_row]),
        )
        actions = written.concat(_seq(self._jvm, [file.remove() for file in replaced]))
        if not actions.isEmpty():
            some, none = self._jvm.scala.Option.apply, self._jvm.scala.Option.empty()
            operation = getattr(delta, "DeltaOperations$Write")(
                self._jvm.org.apache.spark.sql.SaveMode.Overwrite,
                none,
                some(self._where),
                some(self._user_metadata),
                *[none] * 5,
            )
            check()
            self._transaction.commit(actions, operation)

    def _parsed(self, condition: str) -> Any:
        return self._session.sessionState().sqlParser().parseExpression(condition)


def _seq(jvm: Any, values: Sequence[Any]) -> Any:
    """The values as Scala's `Seq`."""
    made = jvm.java.util.ArrayList()
    for value in values:
        made.add(value)
    return jvm.scala.jdk.javaapi.CollectionConverters.asScala(made).toSeq()


def of_day(day: dt.date) -> str:
    """Condition for the rows of a day."""
    return f"event_date = DATE'{day.isoformat()}'"


def only_of(cluster: str, stats: str | None) -> bool | None:
    """Whether all rows of a file belong to the cluster; False = none do, None = some may.

    Args:
        cluster: the cluster.
        stats: Delta's statistics of the file; for long names the min may be a prefix and the max may be rounded
            up.

    >>> stats = '{"minValues": {"cluster": "a"}, "maxValues": {"cluster": "c"}}'
    >>> only_of("b", stats), only_of("d", stats), only_of("a", stats.replace('"c"}', '"a"}')), only_of("a", "{}")
    (None, False, True, None)
    """
    noted = json.loads(stats or "{}")
    try:
        least, greatest = noted["minValues"]["cluster"], noted["maxValues"]["cluster"]
    except KeyError:
        return None
    if not least <= cluster <= greatest:
        return False
    return True if least == greatest else None
