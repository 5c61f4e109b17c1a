"""The commands `register` and `serve`, from parsed options to their end."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from jobs.lake import Lake
from jobs.progress import Progress
from jobs.serving.register import checked_database, register, registered_text
from jobs.serving.thrift import Address, check_address, serving, wait_for_signal
from jobs.session import running
from jobs.settings import Settings

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
    """`faultline serve`: answer until SIGINT or SIGTERM; stdout gets the one line with the URL."""
    database = checked_database(options.database)
    address = Address(options.host, options.port)
    check_address(address, allow_remote=options.allow_remote)
    progress = Progress()
    progress.say(f"faultline serve: starting Spark over {settings.lake}")
    with serving(settings, database, address, verbose=options.verbose) as (url, done, spark):
        for name, why in done.lacking.items():
            progress.say(f"not served: {name}: {why}")
        if not address.is_local:
            progress.say(f"WARNING: whoever reaches {address.host} can read all tables; there is no authentication")
        wait_for_signal(
            spark,
            lambda: say(
                f"faultline serve: ready at {url} ({len(done.tables)} tables, {len(done.views)} views); Ctrl-C stops it"
            ),
        )
    progress.say("faultline serve: stopped")
