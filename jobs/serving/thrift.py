"""`faultline serve`: Spark's own Thrift server over the registered tables, for clients that speak JDBC."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from jobs.errors import AddressError
from jobs.lake.tables_io import Lake
from jobs.serving.address import Address
from jobs.serving.functions import ALLOCATE
from jobs.serving.limits import Limits
from jobs.serving.read_only import compiled, read_only_session
from jobs.serving.register import Registered, register
from jobs.settings.model import Settings
from jobs.spark.delta_jars import delta_jars
from jobs.spark.failures import root_cause
from jobs.spark.interruption import give_back
from jobs.spark.session import end_jvm, open_session

_CLASS_PATH = "spark.driver.extraClassPath"
# The database of the URL, and how many rows Hive's JDBC driver fetches at once; all else is refused.
CLIENTS_BRING = ("use:database", "set:hiveconf:hive.server2.thrift.resultset.default.fetch.size")


@dataclass(frozen=True)
class Server:
    """A server that listens.

    Attributes:
        url: where, for JDBC.
        port: the port of it.
        done: what it serves.
        spark: the session that it serves.
        door: where clients come in, in the JVM.
    """

    url: str
    port: int
    done: Registered
    spark: SparkSession
    door: Any


@contextmanager
def serving(
    settings: Settings, database: str, address: Address, limits: Limits, *, verbose: bool = False
) -> Iterator[Server]:
    """The server while the block runs; afterwards its JVM is gone.

    Raises:
        LakeError: the lake holds no run.
        AddressError: the port was taken meanwhile.
        PlatformError: Spark does not start.
    """
    with tempfile.TemporaryDirectory(prefix="faultline-serve-") as scratch:
        spark = open_session({**settings.spark, **_needs(address, limits, scratch, settings.spark)}, verbose=verbose)
        # else PySpark prints a trace when the JVM ends by itself
        spark.sparkContext._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]  # noqa: SLF001
        door = None
        try:
            jvm: Any = spark._jvm
            jvm.java.lang.System.setProperty("derby.stream.error.file", f"{scratch}/derby.log")
            done = register(spark, Lake(spark, settings.lake), database)
            door = _open_door(spark, address)
            url = f"jdbc:hive2://{address.host}:{door.port()}/{database}"
            yield Server(url, door.port(), done, spark, door)
        finally:
            give_back()
            with suppress(Py4JError, OSError):  # the JVM may be gone
                if door is not None:
                    door.close()
                spark.stop()
            end_jvm()


def _needs(address: Address, limits: Limits, scratch: str, own: Mapping[str, str]) -> dict[str, str]:
    """Spark settings that a server needs, whatever the site's settings say."""
    return {
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.hive.thriftServer.singleSession": "false",  # a client's USE is its own
        "spark.sql.thriftServer.queryTimeout": f"{limits.time_s}s",
        "spark.sql.thriftServer.interruptOnCancel": "true",
        "spark.driver.maxResultSize": f"{limits.result_mb}m",
        "spark.executor.killOnFatalError.depth": "0",  # a task without memory fails, and does not end the JVM
        "spark.sql.runSQLOnFiles": "false",
        "spark.sql.scripting.enabled": "false",  # a loop could go on without a plan that is checked
        # with the Thrift server's dates Delta 4.4 fails to answer max(event_date) from its metadata
        "spark.databricks.delta.optimizeMetadataQuery.enabled": "false",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        # each client's session loads Delta's catalog itself, by a class loader that does not know spark.jars
        _CLASS_PATH: ":".join(filter(None, (*map(str, delta_jars()), own.get(_CLASS_PATH)))),
        "spark.hadoop.hive.server2.transport.mode": "binary",
        "spark.hadoop.hive.server2.thrift.bind.host": address.host,
        "spark.hadoop.hive.server2.thrift.port": str(address.port),
        "spark.hadoop.hive.server2.logging.operation.enabled": "false",
        "spark.hadoop.hive.exec.scratchdir": f"{scratch}/hive",
        "spark.hadoop.hive.exec.local.scratchdir": f"{scratch}/local",
        "spark.hadoop.hive.downloaded.resources.dir": f"{scratch}/resources",
        "spark.hadoop.hive.querylog.location": f"{scratch}/log",
    }


def _open_door(spark: SparkSession, address: Address) -> Any:
    session = read_only_session(spark, [ALLOCATE])
    door = compiled(spark._jvm, "Door").newInstance()
    try:
        door.open(session, set(CLIENTS_BRING))
    except Py4JJavaError as error:
        raise AddressError(f"cannot serve at {address.host}:{address.port}: {root_cause(error)}") from error
    return door
