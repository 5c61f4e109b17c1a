"""`faultline demo`: a first night, from the samples that come with the program."""

from __future__ import annotations

import shlex
from importlib.resources import files

import click

from jobs.cli import options
from jobs.cli.answers import settings_to_read
from jobs.cli.command import Command
from jobs.cli.parameters import FOLDER
from jobs.cli.publish import COMMANDS
from jobs.errors import UsageError
from jobs.text.progress import Progress


@click.command(cls=Command, does="nightly on the samples that come with the program: some minutes, and a lake to ask")
@options.option(
    "--lake",
    type=FOLDER,
    default="faultline-demo",
    metavar="DIR",
    section="lake",
    help="folder or URI of the tables; default: faultline-demo, in the current folder",
)
@options.verbose
@click.pass_context
def demo(context: click.Context, lake: str, *, verbose: bool) -> None:
    """Publish the samples' day, and print what to ask next."""
    samples = str(files("conf").joinpath("local.toml"))
    settings = settings_to_read(context.obj, "demo", ["deltalake"], options.LakeOptions(lake, (samples,)))
    from jobs.answers.published import clusters_of_runs
    from jobs.answers.store import storage_options

    store = storage_options(settings.lake, settings.spark)
    if others := sorted(clusters_of_runs(settings.lake, store) - {settings.cluster}):
        raise UsageError(
            f"the lake {settings.lake} holds runs of cluster {', '.join(others)}, not of the demo; give --lake a"
            " folder of its own"
        )
    Progress().say(f"faultline demo: nightly with the settings {samples}, into the lake {settings.lake}")
    context.invoke(COMMANDS["nightly"], lake=lake, settings=(samples,), verbose=verbose)
    asked = f"--lake {shlex.quote(lake)}"
    print(
        f"\nNext:\n  faultline show night {asked}\n  faultline report {asked}\n"
        f"  faultline export duckdb {asked} --out faultline-demo.duckdb"
    )
