"""The Spark session: created here on one machine, given under `spark-submit`."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from jobs.errors import PlatformError
from jobs.settings.model import Settings
from jobs.spark.at_launch import acting_later
from jobs.spark.delta_jars import delta_jars
from jobs.spark.environment import check_environment
from jobs.spark.executors import check_executors
from jobs.spark.failures import failure, root_cause
from jobs.spark.interruption import defer_signals, give_back, heed_calls
from jobs.spark.store_jars import check_stores
from jobs.text.progress import Progress
from jobs.text.redaction import SECRET_NAME, is_secret

# What exactness depends on; set everywhere, a site's settings cannot change them.
EXACT = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    # Names in SQL are literal: with substitution ${env:HOME} would be the variable's value.
    "spark.sql.variable.substitute": "false",
    "spark.databricks.delta.history.metricsEnabled": "true",
}

# Most of a plan's code runs for seconds: compile only code that is twenty times hotter than Java's default.
_COMPILES_LATER = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000"
    " -XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
)
# Spark's classes fill some 200 MB: below this size the JVM collects its whole heap each time that they reach a bound.
_ROOM_FOR_CLASSES = "-XX:MetaspaceSize=256m"

# Defaults for one machine; a site's `[spark]` settings win.
ONE_MACHINE = {
    "spark.master": "local[*]",
    "spark.driver.memory": "4g",
    "spark.driver.defaultJavaOptions": f"-XX:+UseParallelGC {_ROOM_FOR_CLASSES} {_COMPILES_LATER}",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A broadcast table takes a page at least: of the 64 MB that Spark chooses on two cores, forty small ones take 2 GB.
    "spark.buffer.pageSize": "4m",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.databricks.delta.snapshotPartitions": "2",
    # Percentiles of each broker and minute of a day: by hash, not by sorting every attempt.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
    # Plans are large and many; their texts and history for a web page that is off cost time and heap.
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
}

# Defaults for this program everywhere; a site's `[spark]` settings win.
SUITED = {
    # The JVM never compiles a method of more than 8,000 bytes: without this, parsing runs in its interpreter.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # The plans of the next day are those of this one: their code, a thousand classes and more a flow, stays compiled.
    "spark.sql.codegen.cache.maxEntries": "4000",
    # A write holds rows of one day, so a task has one file open; without this, it sorts its rows by day first.
    "spark.sql.maxConcurrentOutputFileWriters": "4",
    # On a machine outside UTC Delta would read a table's whole state again after each commit, to compare its files with
    # those that it has listed: for instants before 1883 the two may differ there. A lake has none.
    "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
    # Beside each commit Delta lists a table's files up to this number: more than a year of days.
    "spark.databricks.delta.allFilesInCrc.thresholdNumFiles": "1000",
    # For error messages PySpark records the line of each call to F.…: ten calls to the JVM every time.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# Keeps secrets out of Spark's pages, plans and event logs; a site may hide more.
HIDING = {"spark.redaction.regex": SECRET_NAME}

# Settings to which a site's own are appended, and the separator.
_JOINED = {"spark.jars": ",", "spark.sql.extensions": ",", "spark.redaction.regex": "|"}

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@contextmanager
def running(settings: Settings, progress: Progress, *, verbose: bool) -> Iterator[SparkSession]:
    """The session of one command, closed with the block; a failure inside becomes an error that users can act on.

    Raises:
        FaultlineError: one of its subclasses; also for errors of Spark and the JVM whose meaning is known.
    """
    with progress.step("starting Spark"):
        spark = open_session(settings.spark, verbose=verbose)
    try:
        check_executors(spark)
        check_stores(spark, [settings.lake])
        yield spark
    except (Py4JError, PySparkException, ConnectionError) as error:
        raise failure(error, settings.lake) or error from error
    finally:
        give_back()
        with suppress(Py4JError, OSError):  # the JVM may be gone
            spark.stop()


def open_session(spark_settings: Mapping[str, str], *, verbose: bool = False) -> SparkSession:
    """A session with Delta, after the machine has been checked.

    Under `spark-submit` the master, memory and jars are the submitter's, and what it sets wins over our
    defaults, but not over Delta's catalog.

    Args:
        spark_settings: the site's `[spark]` table.
        verbose: let the JVM write to stderr.

    Raises:
        PlatformError: Java, Python, the packages or the Delta jars do not fit together, or Spark does not start.
        SettingsError: a setting acts only at launch, and spark-submit has launched Spark without it.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        SparkContext._ensure_initialized()  # noqa: SLF001 - the JVM of spark-submit, which knows what it was given
        started = dict(SparkConf().getAll())
        settings = _submitted(acting_later(spark_settings, started), started)
    else:
        check_environment()
        jars = ",".join(str(jar) for jar in delta_jars())
        # Otherwise Spark's workers take python3 from PATH.
        os.environ.setdefault("PYSPARK_PYTHON", spark_settings.get("spark.pyspark.python", sys.executable))
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # otherwise Spark's web page listens on all interfaces
        local = {**ONE_MACHINE, "spark.jars": jars}
        if spark_settings.get("spark.sql.catalogImplementation") != "hive":
            # Nothing is kept there; without this, Spark leaves an empty folder where it was started.
            local["spark.sql.warehouse.dir"] = Path(tempfile.gettempdir()).as_uri()
        settings = {**SUITED, **_with_own({**HIDING, **local, **DELTA}, spark_settings), **EXACT}
    defer_signals()
    if not verbose:
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    if submitted:
        spark = _started(settings)
    else:
        with nullcontext() if verbose else _quiet_jvm():
            _start_jvm(settings)
            spark = _started(settings)
            _ignore_signals(spark)
    _check_delta(spark)
    # Delta numbers its commits in the digits of the JVM's locale: other readers could not read Arabic ones.
    spark._jvm.java.util.Locale.setDefault(spark._jvm.java.util.Locale.US)  # type: ignore[union-attr]
    return spark


def _submitted(site: Mapping[str, str], started: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session under spark-submit; the cluster's catalog, such as Iceberg's, would not know our tables.

    Args:
        site: those of `[spark]` that still act.
        started: settings with which the JVM was started.
    """
    own = _with_own({key: value for key, value in started.items() if key in _JOINED}, site)
    return {"spark.log.level": "WARN", **SUITED, **started, **_with_own({**HIDING, **DELTA}, own), **EXACT}


def _with_own(ours: Mapping[str, str], site: Mapping[str, str]) -> dict[str, str]:
    """Our settings and the site's; jars, extensions and redaction are appended to ours unless they hold them.

    >>> _with_own({"spark.jars": "delta.jar"}, {"spark.jars": "s3.jar", "spark.driver.memory": "8g"})
    {'spark.jars': 'delta.jar,s3.jar', 'spark.driver.memory': '8g'}
    >>> _with_own({"spark.sql.extensions": "Delta"}, {"spark.sql.extensions": "Iceberg,Delta"})
    {'spark.sql.extensions': 'Iceberg,Delta'}
    """
    shared = [(key, mark) for key, mark in _JOINED.items() if key in ours and ours[key] not in site.get(key, ours[key])]
    both = {key: f"{ours[key]}{mark}{site[key]}" for key, mark in shared}
    return {**ours, **site, **both}


def _start_jvm(settings: Mapping[str, str]) -> None:
    """Start the JVM without the secrets: every user of the machine can read its command line; they follow by socket.

    It is a process group of its own: what the terminal sends to the program's group would end it, and its Python
    workers, before the program could give back what it holds. It ends when the program does, as its stdin does then.
    """
    shown = [(name, value) for name, value in settings.items() if not is_secret(name)]
    if SparkContext._gateway is None:  # noqa: SLF001 - the only way in
        conf = SparkConf(loadDefaults=False).setAll(shown)
        gateway = launch_gateway(conf, {"process_group": 0})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001 - same


def _started(settings: Mapping[str, str]) -> SparkSession:
    """The session; PySpark takes over SIGINT when its context starts, so the former handler is restored."""
    SparkContext._ensure_initialized()  # noqa: SLF001 - the JVM of spark-submit, or the one that was started
    heed_calls(SparkContext._gateway._gateway_client)  # type: ignore[union-attr]  # noqa: SLF001 - all calls go there
    had = signal.getsignal(signal.SIGINT)
    SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())).setAppName("faultline"))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, had)
    builder = SparkSession.builder.appName("faultline")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _ignore_signals(spark: SparkSession) -> None:
    """Make the JVM ignore signals: it ends with the program, not when a supervisor signals every process."""
    java: Any = spark._jvm
    for name in ("TERM", "HUP"):
        java.sun.misc.Signal.handle(java.sun.misc.Signal(name), java.sun.misc.SignalHandler.SIG_IGN)


@contextmanager
def _quiet_jvm() -> Iterator[None]:
    """The JVM started in the block writes its stderr to a hidden file, which is shown if it fails to start."""
    with tempfile.TemporaryFile() as log:
        sys.stderr.flush()
        original = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except (Py4JError, PySparkException, RuntimeError) as error:
            log.seek(0)
            why = _why(error, log.read().decode(errors="replace").splitlines())
            raise PlatformError(f"Spark does not start: {why}; run again with -v for its full output") from error
        finally:
            os.dup2(original, 2)
            os.close(original)


def _why(error: Exception, log: Sequence[str]) -> str:
    """Reason why the JVM did not start: its own words, or those of its log when it died first."""
    said = [line.strip() for line in log if "Exception" in line or "Error" in line]
    return said[0] if said and not isinstance(error, Py4JJavaError) else root_cause(error)


def _check_delta(spark: SparkSession) -> None:
    loaded = spark._jvm.org.apache.spark.util.Utils.classIsLoadable("io.delta.tables.DeltaTable")  # type: ignore[union-attr]
    if not loaded:
        raise PlatformError(
            "the session has no Delta jars; give spark-submit --jars with delta-spark_4.2_2.13-4.4.0.jar and"
            " delta-storage-4.4.0.jar"
        )
