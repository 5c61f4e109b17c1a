"""`faultline register`: tables and views in the catalog of a session."""

from __future__ import annotations

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.serving.database import DATABASE, checked_database
from jobs.text.progress import Progress


@click.command(cls=Command, does="put tables and views into the session's catalog, such as a Hive metastore")
@options.option("--database", default=DATABASE, metavar="NAME", help=f"its name there; default {DATABASE}")
@options.lake()
@options.verbose
@click.pass_obj
def register(call: Call, database: str, lake: options.LakeOptions, *, verbose: bool) -> None:
    """Register them, and print their names."""
    name = checked_database(database)
    settings = call.settings_for_spark(lake)
    from jobs.lake.tables_io import Lake
    from jobs.serving import register as catalog
    from jobs.spark.session import running

    progress = Progress()
    with running(settings, progress, verbose=verbose) as spark:
        with progress.step("registering"):
            done = catalog.register(spark, Lake(spark, settings.lake), name)
        print(catalog.registered_text(done), flush=True)
