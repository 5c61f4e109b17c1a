"""A run of the second flow: stage the snapshots, publish each day, log it all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.allocation.job import Opening, Snapshots, allocation
from jobs.day import Day
from jobs.errors import ReconciliationError
from jobs.ingest import check_fit_to_publish, stage_snapshots
from jobs.kept import keeper
from jobs.lake import Lake
from jobs.progress import Progress
from jobs.run_record import (
    ALLOCATION,
    DayResult,
    Run,
    RunResult,
    failure_text,
    log_run,
    published_openings,
    run_metadata,
)
from jobs.settings import Settings
from jobs.sources.client_log import CLIENT_LOGS, SCHEMA
from jobs.sources.snapshots import KINDS
from jobs.staged import Staged
from jobs.tables import (
    ALLOCATION_FINDINGS,
    GROUP_MEMBERS,
    QUARANTINE,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    REBALANCES,
    ROUTE_CHANGES,
    RUN_LOG,
    STRATEGY_COMPARISON,
    TOPIC_QUEUES,
    Table,
)

_AT_ONCE = 4  # small tables: their planning and commits overlap
_DERIVED = (
    TOPIC_QUEUES,
    ROUTE_CHANGES,
    GROUP_MEMBERS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    ALLOCATION_FINDINGS,
    REBALANCES,
    STRATEGY_COMPARISON,
)
_CARRIED = (TOPIC_QUEUES, GROUP_MEMBERS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP)
_INPUTS = (*(kind.name for kind in KINDS), CLIENT_LOGS)


def run_allocation(spark: SparkSession, settings: Settings, run: Run, progress: Progress) -> RunResult:
    """Publish the asked days from the snapshots.

    A later published day that started from another closing state is reported in `stale_days`: its snapshots are not
    kept, so only a run over them makes it anew.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, published days stay as they are.
    """
    lake = Lake(spark, settings.lake)
    days = [Day(date, settings.cluster) for date in run.days]
    result = RunResult(run)
    with lake.held():
        with progress.step("opening the lake"):
            lake.create_tables((*_DERIVED, QUARANTINE, RUN_LOG))
            lake.clear_staging(run.run_id)
        log_run(spark, lake, run, ALLOCATION, days, "STARTED", settings)
        try:
            with progress.step("reading snapshots"):
                staged = stage_snapshots(spark, settings, (run.days[0], run.days[-1]), f"{lake.staging}/{run.run_id}")
            days = staged.days(run.days, settings.cluster)
            result.clusters = sorted({day.cluster for day in days})
            check_fit_to_publish(staged, days, settings, allow_empty=run.allow_empty)
            result.other_days, result.hidden_files = staged.other_days, staged.hidden_files
            for day in days:
                result.days.append(_publish(spark, lake, settings, run, day, staged, progress))
                if day.after not in days and _is_stale(lake, result.days[-1]):
                    result.stale_days.append(day.after.date)
        except Exception as error:
            unfinished = [day for day in days if day not in [done.day for done in result.days]]
            log_run(spark, lake, run, ALLOCATION, unfinished, "FAILED", settings, message=failure_text(error))
            raise
        finally:
            lake.clear_staging(run.run_id)
    return result


def _publish(
    spark: SparkSession, lake: Lake, settings: Settings, run: Run, day: Day, staged: Staged, progress: Progress
) -> DayResult:
    counts, metadata = staged.counts(day), run_metadata(run, settings)
    known_start = day.before.date in published_openings(lake, ALLOCATION, day.cluster)
    keep = keeper(spark, f"{lake.staging}/{run.run_id}/{quote(day.cluster, safe='')}-{day.date}")
    with progress.step(f"allocating queues of {day.date}"):
        opening = {table.name: _reaching(lake, table, day.before).where(F.lit(known_start)) for table in _CARRIED}
        opening_state = _state_hash(list(opening.values()))
        allocated = allocation(
            Snapshots(*(_lines(spark, staged, name, day) for name in _INPUTS)),
            Opening(**opening),
            day,
            settings,
            keep,
        )
        bad = lake.publish_day(
            QUARANTINE,
            staged.quarantine(day, run.run_id),
            day.cluster,
            day.date,
            metadata,
            only={"source": list(_INPUTS)},
        )
        if bad.rows != counts.rows_quarantined:
            raise ReconciliationError(
                f"quarantine of {day.date} got {bad.rows} rows, {counts.rows_quarantined} were counted;"
                " run the day again"
            )
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            commits = pool.map(
                lambda table: lake.publish_day(table, getattr(allocated, table.name), day.cluster, day.date, metadata),
                _DERIVED,
            )
            versions = {commit.table: commit.version for commit in (bad, *commits)}
        closing_state = _state_hash([_reaching(lake, table, day) for table in _CARRIED])
    done = DayResult(
        day, counts, "PREVIOUS_DAY" if known_start else "EMPTY", opening_state, closing_state, False, versions
    )
    log_run(spark, lake, run, ALLOCATION, [day], "SUCCEEDED", settings, done=done)
    return done


def _lines(spark: SparkSession, staged: Staged, name: str, day: Day) -> DataFrame:
    found = staged[name]
    if found is not None:
        return found.published(day)
    if name == CLIENT_LOGS:
        return spark.createDataFrame([], SCHEMA)
    kind = next(each for each in KINDS if each.name == name)
    return spark.createDataFrame([], "captured_at_ms bigint").select(
        "captured_at_ms", *(F.lit(None).cast(field.dataType).alias(field.name) for field in kind.fields)
    )


def _reaching(lake: Lake, table: Table, day: Day) -> DataFrame:
    """The day's rows that still stand at 24:00."""
    return lake.read_day(table, day.cluster, day.date).where(F.col("valid_until_ms") == F.lit(day.end_ms))


def _state_hash(tables: list[DataFrame]) -> str:
    """Hash of all rows in any order, without when they began."""
    hashes = [
        table.select(
            F.xxhash64(
                F.to_json(F.struct(*(name for name in table.columns if not name.startswith("valid_from"))))
            ).alias("hash")
        )
        for table in tables
    ]
    total = F.sum(F.col("hash").cast("decimal(38,0)"))
    found = reduce(DataFrame.unionByName, hashes).agg(F.count("*").alias("rows"), total.alias("sum")).first()
    return f"{found['rows']}:{found['sum'] or 0}" if found else "0:0"


def _is_stale(lake: Lake, last: DayResult) -> bool:
    openings = published_openings(lake, ALLOCATION, last.day.cluster)
    after = openings.get(last.day.after.date)
    return after is not None and after != ("PREVIOUS_DAY", last.closing_state)
