"""`faultline export metrics`: the last published night as gauges for node exporter."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import click

from jobs.cli import options
from jobs.cli.answer_of_a_run import Answer, said_alone
from jobs.cli.answers import lake_of
from jobs.cli.call import Call
from jobs.cli.command import Command, in_full
from jobs.cli.parameters import DAY, FILE
from jobs.spark.environment import check_extra
from jobs.text.terminal import safe
from jobs.uri import local_folder

PACKAGES = ("deltalake", "prometheus_client")
_DOES = "a published night of each cluster as gauges, for node exporter's textfile collector"


@click.command("metrics", cls=Command, short_help=_DOES, help=in_full(_DOES))
@options.option("--date", type=DAY, metavar="D", section=options.DAYS, help="default: the last one published")
@options.gathered(
    "lake",
    options.LakeOptions,
    options.lake_folder("lake"),
    options.settings_files("lake", "settings that name the lake; without any and a lake: conf/local.toml"),
)
@options.option("--out", type=FILE, required=True, metavar="FILE.prom", help="the file; the collector reads *.prom")
@options.verbose
@click.pass_obj
def metrics(
    call: Call,
    date: dt.date | None,
    lake: options.LakeOptions,
    out: str,
    *,
    verbose: bool,  # noqa: ARG001 - main reads it from the words
) -> None:
    """Write the file, and print the nights."""
    where = lake_of(call, "export metrics", PACKAGES, lake, None)
    from jobs.answers.metrics import write_metrics

    nights = write_metrics(where.lake, Path(out), date, where.options)
    for warning in filter(None, (night.warning for night in nights)):
        sys.stderr.write(f"faultline: {warning}\n")
    print(f"wrote {out}: {', '.join(f'{night.date}, cluster {safe(night.cluster)}' for night in nights)}")


def export_metrics(answer: Answer, file: str) -> None:
    """The last step of a night; what fails of it is said and changes nothing."""
    with said_alone("published, but the metrics were not written", "; write them with faultline export metrics"):
        check_extra("export.metrics", "report", PACKAGES)
        from jobs.answers.metrics import write_metrics
        from jobs.answers.store import storage_options

        lake = answer.settings.lake
        write_metrics(lake, local_folder(file) or Path(file), None, storage_options(lake, answer.spark_settings))
