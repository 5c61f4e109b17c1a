"""The commands `register` and `serve`, from parsed options to their end."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable

from jobs.lake.tables_io import Lake
from jobs.serving.address import Address, check_address
from jobs.serving.limits import Limits
from jobs.serving.register import checked_database, register, registered_text
from jobs.serving.thrift import Server, serving
from jobs.serving.watch import Restarts, stop_signal, why_it_ended
from jobs.settings.model import Settings
from jobs.spark.session import running
from jobs.text.progress import Progress

Say = Callable[[str], None]


def run_register(options: argparse.Namespace, settings: Settings, say: Say) -> None:
    """`faultline register`: fill the catalog of a session and say with what."""
    database = checked_database(options.database)
    progress = Progress()
    with running(settings, progress, verbose=options.verbose) as spark:
        with progress.step("registering"):
            done = register(spark, Lake(spark, settings.lake), database)
        say(registered_text(done))


def run_serve(options: argparse.Namespace, settings: Settings, say: Say) -> None:
    """`faultline serve`: answer until SIGINT or SIGTERM; stdout gets a line with the URL whenever it is ready."""
    database = checked_database(options.database)
    limits = Limits(options.time_limit_s, options.result_limit_mb)
    address = Address(options.host, options.port)
    check_address(address, allow_remote=options.allow_remote)
    if not options.verbose:
        logging.disable()  # py4j would log what it makes of a JVM that ended
    progress = Progress()
    progress.say(f"faultline serve: starting Spark over {settings.lake}")
    stop, restarts, ended = None, Restarts(), None
    while stop is None or ended is not None:
        with serving(settings, database, address, limits, verbose=options.verbose) as server:
            stop = stop or stop_signal()
            _say_what_is_served(server, address, progress)
            say(
                f"faultline serve: ready at {server.url} ({len(server.done.tables)} tables,"
                f" {len(server.done.views)} views); Ctrl-C stops it"
            )
            ended = why_it_ended(server, limits, stop)
        if ended is not None:
            progress.say(f"faultline serve: {restarts.another(ended)}")
            address = Address(address.host, server.port)
    progress.say("faultline serve: stopped")


def _say_what_is_served(server: Server, address: Address, progress: Progress) -> None:
    for name, why in server.done.lacking.items():
        progress.say(f"not served: {name}: {why}")
    if not address.is_local:
        progress.say(f"WARNING: whoever reaches {address.host} can read all tables; there is no authentication")
