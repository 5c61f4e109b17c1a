"""Input lines into a staging folder, each with its fate, counted and reconciled before anything is published."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.day import Day
from jobs.errors import InputMissingError, ReconciliationError, TooManyBadLinesError
from jobs.settings import Settings
from jobs.sources.files import Manifest, check_unchanged, list_files, unreadable
from jobs.sources.send_log import BLANK, DUPLICATE, OTHER_DAY, PUBLISHED, QUARANTINED, line_numbers, read_sends
from jobs.sources.topic_route import broker_names, read_routes, topic_brokers
from jobs.tables import SENDS, TOPIC_BROKERS


@dataclass(frozen=True)
class Counts:
    """Where the lines of one run went, seen from one day."""

    rows_read: int
    rows_published: int
    rows_quarantined: int
    rows_duplicate: int
    rows_other_day: int


@dataclass(frozen=True)
class StagedSends:
    """Every line of the input, staged with its disposition.

    Attributes:
        lines: the staged lines, blank ones too.
        manifest: the files they came from.
        fates: (disposition, cluster, day or None) to number of lines.
        routes: the name server's answers; None when the site gave none.
    """

    lines: DataFrame
    manifest: Manifest
    fates: Mapping[tuple[str, str, dt.date | None], int]
    routes: DataFrame | None

    @property
    def rows_read(self) -> int:
        """All lines."""
        return sum(self.fates.values())

    @property
    def other_days(self) -> dict[dt.date, int]:
        """Lines of days that were not asked for, by day."""
        days: Counter[dt.date] = Counter()
        for (fate, _, day), count in self.fates.items():
            if fate == OTHER_DAY and day:
                days[day] += count
        return dict(sorted(days.items()))

    def days(self, dates: Sequence[dt.date], default: str) -> list[Day]:
        """What to publish: each date for the clusters that have good lines on it, cluster by cluster.

        A cluster without a good line on a date keeps what is published; a date without any is the default's.
        """
        return sorted(
            (Day(date, cluster) for date in dates for cluster in self._clusters(date) or [default]),
            key=lambda day: (day.cluster, day.date),
        )

    def _clusters(self, date: dt.date) -> list[str]:
        return sorted({cluster for fate, cluster, day in self.fates if fate == PUBLISHED and day == date})

    def _bad_of(self, day: Day) -> list[str]:
        """The clusters whose bad lines the day takes: its own; the date's first also those without good lines."""
        hosts = self._clusters(day.date)
        bad = {cluster for fate, cluster, _ in self.fates if fate == QUARANTINED}
        strays = bad - set(hosts) if day.cluster in hosts[:1] or not hosts else set()
        return sorted({day.cluster} | strays)

    def counts(self, day: Day) -> Counts:
        """The counts as a run of this day and cluster alone has them.

        Bad lines without a day count on every day; lines of other clusters count as of other days.
        """
        published = self.fates.get((PUBLISHED, day.cluster, day.date), 0)
        duplicates = self.fates.get((DUPLICATE, day.cluster, day.date), 0)
        quarantined = sum(
            self.fates.get((QUARANTINED, cluster, date), 0)
            for cluster in self._bad_of(day)
            for date in (day.date, None)
        )
        return Counts(
            self.rows_read, published, quarantined, duplicates, self.rows_read - published - duplicates - quarantined
        )

    def sends(self, day: Day) -> DataFrame:
        """The day's attempts as the table `sends` has them."""
        chosen = self.lines.where((F.col("disposition") == PUBLISHED) & (F.col("day") == F.lit(day.date)) & _of(day))
        return chosen.withColumns(
            {
                "event_date": F.col("day"),
                "started_at": F.timestamp_millis("started_at_ms"),
                "ended_at": F.timestamp_millis("ended_at_ms"),
            }
        ).select(*SENDS.schema.fieldNames())

    def topic_brokers(self, day: Day) -> DataFrame:
        """The day's routes as the table `topic_brokers` has them; no rows when the site gave none."""
        if self.routes is None:
            return self.lines.sparkSession.createDataFrame([], TOPIC_BROKERS.schema)
        clusters = {cluster for fate, cluster, _ in self.fates if fate == PUBLISHED}
        return topic_brokers(self.routes, day, only_own=len(clusters) > 1).withColumns(
            {
                "event_date": F.lit(day.date),
                "valid_from_at": F.timestamp_millis("valid_from_ms"),
                "valid_until_at": F.timestamp_millis("valid_until_ms"),
            }
        )

    def quarantine(self, day: Day, run_id: str) -> DataFrame:
        """The day's bad lines and those without a day, as the table `quarantine` has them."""
        of_day = F.col("day").isNull() | (F.col("day") == F.lit(day.date))
        bad = self.lines.where(
            (F.col("disposition") == QUARANTINED) & of_day & F.col("cluster").isin(self._bad_of(day))
        )
        numbered = bad.join(F.broadcast(line_numbers(self.lines)), ["file", "split"])
        path = F.regexp_replace(F.try_url_decode(F.replace("file", F.lit("+"), F.lit("%2B"))), "^file:/*", "/")
        names = {file.readable_name: file.name for file in self.manifest.files if file.readable_name != file.name}
        for copy, original in names.items():
            path = F.when(path.endswith(copy.removeprefix("file:")), F.lit(original)).otherwise(path)
        return numbered.select(
            F.lit(day.date).alias("event_date"),
            F.lit(day.cluster).alias("cluster"),
            F.lit("sends").alias("source"),
            path.alias("file"),
            (F.col("lines_before") + F.col("row") - F.col("first_row") + 1).alias("line"),
            "reason",
            "detail",
            "raw",
            F.lit(run_id).alias("run_id"),
        )


def stage_sends(spark: SparkSession, settings: Settings, days: tuple[dt.date, dt.date], folder: str) -> StagedSends:
    """Read every file once and stage every line below `folder`.

    Raises:
        InputMissingError: no such path, or no file in it.
        InputUnreadableError: a file that cannot be read to its end, or that changed meanwhile.
        ReconciliationError: lines read and lines staged differ in number.
    """
    if not settings.inputs.sends.path:
        raise InputMissingError("no send attempts are named; give --sends PATH or the setting inputs.sends.path")
    manifest = list_files(spark, settings.inputs.sends.path, f"{folder}/renamed")
    if not manifest.files:
        raise InputMissingError(
            f"no file in {', '.join(settings.inputs.sends.path)} (hidden ones are not read);"
            " give a folder that holds the send logs"
        )
    routes = _stage_routes(spark, settings, folder)
    counted = Observation("lines")
    target = f"{folder}/sends"
    try:
        lines = read_sends(
            spark, manifest, settings, broker_names(routes) if routes is not None else None, days, counted
        )
        _thinned(lines).write.parquet(target)
    except (Py4JJavaError, PySparkException) as error:
        check_unchanged(spark, manifest)
        raise unreadable(error, manifest) or error from error
    check_unchanged(spark, manifest)
    staged = spark.read.parquet(target)
    groups = staged.where(F.col("disposition") != BLANK).groupBy("disposition", "cluster", "day").count().collect()
    fates = {(row["disposition"], row["cluster"], row["day"]): row["count"] for row in groups}
    found = StagedSends(staged, manifest, fates, routes)
    if counted.get["rows_read"] != found.rows_read:
        raise ReconciliationError(
            f"{counted.get['rows_read']} lines were read but {found.rows_read} staged; run again and report it"
        )
    return found


def _stage_routes(spark: SparkSession, settings: Settings, folder: str) -> DataFrame | None:
    if not settings.inputs.routes.path:
        return None
    manifest = list_files(spark, settings.inputs.routes.path, f"{folder}/renamed-routes")
    if not manifest.files:
        raise InputMissingError(
            f"no file in {', '.join(settings.inputs.routes.path)}; give a folder that holds the routes"
        )
    try:
        read_routes(spark, manifest).write.parquet(f"{folder}/routes")
    except (Py4JJavaError, PySparkException) as error:
        check_unchanged(spark, manifest)
        raise unreadable(error, manifest) or error from error
    check_unchanged(spark, manifest)
    return spark.read.parquet(f"{folder}/routes")


def check_fit_to_publish(staged: StagedSends, days: list[Day], settings: Settings, *, allow_empty: bool) -> None:
    """Fail when the lines must not be published.

    Raises:
        TooManyBadLinesError: more than `max_bad_fraction` of the lines are bad.
        InputMissingError: not one line of an asked day, unless `allow_empty`.
        ReconciliationError: the counts do not add up.
    """
    for day in days:
        counts = staged.counts(day)
        gone = counts.rows_published + counts.rows_quarantined + counts.rows_duplicate + counts.rows_other_day
        if gone != counts.rows_read or counts.rows_other_day < 0:
            raise ReconciliationError(f"counts of {day.date} do not add up: {counts}; run again and report it")
        if counts.rows_quarantined > counts.rows_read * settings.max_bad_fraction:
            raise TooManyBadLinesError(_too_many(staged, counts, settings))
    for date in sorted({day.date for day in days}):
        published = sum(staged.counts(day).rows_published for day in days if day.date == date)
        if not published and not allow_empty:
            elsewhere = ", ".join(f"{other} ({count} lines)" for other, count in list(staged.other_days.items())[:5])
            hint = f"the files hold {elsewhere}" if elsewhere else "the files hold no line that tells a day"
            raise InputMissingError(
                f"no line of {date} in {staged.rows_read} lines read; {hint}; give another --date, or --allow-empty"
            )


def _of(day: Day) -> Column:
    return F.col("cluster") == F.lit(day.cluster)


def _too_many(staged: StagedSends, counts: Counts, settings: Settings) -> str:
    reasons = (
        staged.lines.where(F.col("disposition") == QUARANTINED)
        .groupBy("reason")
        .count()
        .orderBy(F.desc("count"), "reason")
    )
    worst = ", ".join(f"{row['reason']} {row['count']}" for row in reasons.limit(3).collect())
    return (
        f"{counts.rows_quarantined} of {counts.rows_read} lines are bad ({worst}), more than max_bad_fraction"
        f" {settings.max_bad_fraction}; nothing was published; mend the log or raise --set max_bad_fraction=…"
    )


def _thinned(lines: DataFrame) -> DataFrame:
    """Only what is still needed of each line: its place and fate always, its fields when it is published."""
    place = {"file", "split", "row", "cluster", "day", "disposition"}
    kept = {"raw": QUARANTINED, "reason": QUARANTINED, "detail": QUARANTINED}
    return lines.drop("damage").select(
        *(
            F.col(name)
            if name in place
            else F.when(F.col("disposition") == kept.get(name, PUBLISHED), F.col(name)).alias(name)
            for name in lines.columns
            if name != "damage"
        )
    )
