"""`faultline serve`: Spark's own Thrift server over the registered tables, for clients that speak JDBC."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.sql import SparkSession

from jobs.errors import AddressError, PlatformError
from jobs.interruption import give_back, heeded
from jobs.jars import delta_jars
from jobs.lake import Lake
from jobs.serving.functions import ALLOCATE
from jobs.serving.read_only import read_only_session
from jobs.serving.register import Registered, register
from jobs.session import open_session
from jobs.settings import Settings
from jobs.spark_errors import root_cause


@dataclass(frozen=True)
class Address:
    """Where to listen; port 0 = any free one."""

    host: str = "127.0.0.1"
    port: int = 10000

    @property
    def is_local(self) -> bool:
        """Only this machine can reach it."""
        return all(ipaddress.ip_address(each[4][0]).is_loopback for each in socket.getaddrinfo(self.host, None))


def check_address(address: Address, *, allow_remote: bool) -> None:
    """Refuse, before Spark starts, an address that cannot be served at.

    Raises:
        AddressError: the port is taken, the host is none of this machine, or others could reach it unasked.
    """
    try:
        is_local = address.is_local
        socket.create_server((address.host, address.port)).close()
    except OverflowError:
        raise AddressError(f"port {address.port} is none; give 0 to 65535, 0 = any free one") from None
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise AddressError(
            f"cannot serve at {address.host}:{address.port}: {why}; give another --port or --host"
        ) from error
    if not is_local and not allow_remote:
        raise AddressError(
            f"host {address.host} can be reached from other machines, and nobody is asked who they are;"
            " leave --host out, or add --allow-remote if that is meant"
        )


_CLASS_PATH = "spark.driver.extraClassPath"


@contextmanager
def serving(
    settings: Settings, database: str, address: Address, *, verbose: bool = False
) -> Iterator[tuple[str, Registered, SparkSession]]:
    """The server while the block runs: its JDBC URL, what it serves, and its session.

    Raises:
        LakeError: the lake holds no run.
        AddressError: the port was taken meanwhile.
        PlatformError: Spark does not start.
    """
    with tempfile.TemporaryDirectory(prefix="faultline-serve-") as scratch:
        spark = open_session({**settings.spark, **_needs(address, scratch, settings.spark)}, verbose=verbose)
        server = None
        try:
            jvm: Any = spark._jvm
            jvm.java.lang.System.setProperty("derby.stream.error.file", f"{scratch}/derby.log")
            done = register(spark, Lake(spark, settings.lake), database)
            server = _start(spark, address)
            port = next(each.getPortNumber() for each in server.getServices() if "Thrift" in each.getName())
            yield f"jdbc:hive2://{address.host}:{port}/{database}", done, spark
        finally:
            give_back()
            with suppress(Py4JError, OSError):  # the JVM may be gone
                if server is not None:
                    server.stop()
                spark.stop()


def _needs(address: Address, scratch: str, own: Mapping[str, str]) -> dict[str, str]:
    """What a server needs of its session, whatever the site's settings say."""
    return {
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.hive.thriftServer.singleSession": "false",  # a client's USE is its own
        "spark.sql.runSQLOnFiles": "false",
        # with the Thrift server's dates Delta 4.4 fails to answer max(event_date) from its metadata
        "spark.databricks.delta.optimizeMetadataQuery.enabled": "false",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        # each client's session loads Delta's catalog itself, by a class loader that does not know spark.jars
        _CLASS_PATH: ":".join(filter(None, (*map(str, delta_jars()), own.get(_CLASS_PATH)))),
        "spark.hadoop.hive.server2.thrift.bind.host": address.host,
        "spark.hadoop.hive.server2.thrift.port": str(address.port),
        "spark.hadoop.hive.server2.logging.operation.enabled": "false",
        "spark.hadoop.hive.exec.scratchdir": f"{scratch}/hive",
        "spark.hadoop.hive.exec.local.scratchdir": f"{scratch}/local",
        "spark.hadoop.hive.downloaded.resources.dir": f"{scratch}/resources",
        "spark.hadoop.hive.querylog.location": f"{scratch}/log",
    }


def _start(spark: SparkSession, address: Address) -> Any:
    session = read_only_session(spark, [ALLOCATE])
    try:
        return spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithSparkSession(  # type: ignore[union-attr]
            session,
            False,  # do not end the JVM when it fails
        )
    except Py4JJavaError as error:
        raise AddressError(f"cannot serve at {address.host}:{address.port}: {root_cause(error)}") from error


def wait_for_signal(spark: SparkSession, ready: Callable[[], None]) -> None:
    """Say that all is ready, then wait for SIGINT, SIGTERM or SIGHUP.

    Raises:
        PlatformError: the JVM ended by itself.
    """
    stop = threading.Event()
    for number in heeded():
        signal.signal(number, lambda *_: stop.set())
    ready()
    while not stop.wait(5):
        try:
            ended = spark.sparkContext._jsc.sc().isStopped()
        except (Py4JNetworkError, OSError):
            ended = True
        if ended and not stop.is_set():
            raise PlatformError("the JVM of the server ended; start it again, with -v for all that it says")
