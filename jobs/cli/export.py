"""`faultline export`: what is published as a file for other programs; also the last step of `nightly`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import click

from jobs.cli import options
from jobs.cli.answer_of_a_run import Answer, said_alone
from jobs.cli.answers import settings_to_read
from jobs.cli.call import Call
from jobs.cli.command import SubjectCommand
from jobs.cli.parameters import DAY, FILE, Word
from jobs.errors import UsageError
from jobs.uri import local_folder

SUBJECTS = {
    "duckdb": "one DuckDB file with every table and view, for dashboards and SQL without Spark",
    "metrics": "the last night of each cluster as gauges, for node exporter's textfile collector (*.prom)",
}
"""Subject to what is written."""

_PACKAGES = {"duckdb": ("deltalake", "duckdb"), "metrics": ("deltalake", "prometheus_client")}


@click.command(
    cls=SubjectCommand,
    subjects=SUBJECTS,
    does="what is published as one file, for dashboards, SQL without Spark, or alerts",
)
@click.argument("subject", type=Word(SUBJECTS), metavar="WHAT")
@options.option("--out", type=FILE, required=True, metavar="FILE", help="the file; one of the same kind is replaced")
@options.option(
    "--since", type=DAY, metavar="D", section=options.DAYS, help="duckdb: first day; default: the lake's first one"
)
@options.lake_named_by("settings that name lake and store; without any and a lake: conf/local.toml")
@options.verbose
@click.pass_obj
def export(
    call: Call,
    subject: str,
    out: str,
    since: dt.date | None,
    lake: options.LakeOptions,
    *,
    verbose: bool,  # noqa: ARG001 - main reads it from the words
) -> None:
    """Write the file, and print what is in it."""
    if since and subject != "duckdb":
        raise UsageError(f"--since {since} is for export duckdb; export {subject} is of the last night; leave it out")
    file = local_folder(out)
    if file is None:
        raise UsageError(f"--out {out} is on another store; name a file of this machine, and copy it there")
    settings = settings_to_read(call, f"export {subject}", _PACKAGES[subject], lake)
    said = _write(subject, settings.lake, settings.spark, file, since=since)
    click.echo(said, err=not file.is_file())  # a pipe or device has only what it is for


def export_night(answer: Answer) -> None:
    """Write each file that settings name; one that fails is a sentence on stderr, as the night is published."""
    export, root = answer.settings.export, answer.settings.lake
    for subject, name in (("duckdb", export.duckdb), ("metrics", export.metrics)):
        if name:
            with said_alone("published, but not exported", f"; then run faultline export {subject}"):
                from jobs.spark.environment import check_extra

                check_extra(f"export.{subject}", _PACKAGES[subject])
                file = local_folder(name) or Path(name)
                answer.progress.say(_write(subject, root, answer.spark_settings, file, most_days=export.days))


def _write(
    subject: str,
    root: str,
    spark: Mapping[str, str],
    file: Path,
    *,
    since: dt.date | None = None,
    most_days: int | None = None,
) -> str:
    """Write the file, and return a sentence that says what is in it; `spark` has Spark's settings."""
    from jobs.answers.store import storage_options

    store = storage_options(root, spark)
    if subject == "metrics":
        from jobs.answers.metrics import export_metrics

        return export_metrics(root, file, store)
    from jobs.serving.duckdb_file import export_duckdb

    return export_duckdb(root, file, since, store, most_days=most_days)
