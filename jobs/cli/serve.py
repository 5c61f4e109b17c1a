"""`faultline serve`: SQL over the tables, until it is stopped."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command, in_full
from jobs.serving.address import Address, check_address
from jobs.serving.limits import Limits
from jobs.settings.model import Settings
from jobs.text.progress import Progress

if TYPE_CHECKING:  # it imports Spark
    from jobs.serving.thrift import Server

_DOES = "answer SQL over the tables, for clients that speak JDBC, until it is stopped"


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen, and what a question may take.

    Attributes:
        allow_remote: the host may be one that other machines reach.
    """

    host: str
    port: int
    time_limit_s: int
    result_limit_mb: int
    allow_remote: bool
    verbose: bool


@click.command(cls=Command, short_help=_DOES, help=in_full(_DOES))
@options.database
@options.lake()
@options.gathered(
    "how",
    ServeOptions,
    options.option(
        "--host", default=Address.host, metavar="H", help="address to listen at; default: this machine's own"
    ),
    options.option(
        "--port", type=int, default=Address.port, metavar="P", help=f"default {Address.port}; 0 = any free one"
    ),
    options.option(
        "--time-limit-s",
        type=int,
        default=Limits.time_s,
        metavar="S",
        help=f"seconds after which a question is ended; default {Limits.time_s}",
    ),
    options.option(
        "--result-limit-mb",
        type=int,
        default=Limits.result_mb,
        metavar="MB",
        help=f"MB that the tasks of a question may hand back; default {Limits.result_mb}",
    ),
    options.option(
        "--allow-remote", is_flag=True, help="take a --host that other machines reach; nobody is asked who they are"
    ),
    options.verbose,
)
@click.pass_obj
def serve(call: Call, database: str, lake: options.LakeOptions, how: ServeOptions) -> None:
    """Answer until SIGINT or SIGTERM; stdout gets a line with the URL whenever it is ready."""
    settings = call.settings_for_spark(lake)
    from jobs.serving.register import checked_database

    name = checked_database(database)
    limits = Limits(how.time_limit_s, how.result_limit_mb)
    address = Address(how.host, how.port)
    check_address(address, allow_remote=how.allow_remote)
    if not how.verbose:
        logging.disable()  # py4j would log what it makes of a JVM that ended
    _serve_until_stopped(settings, name, address, limits, verbose=how.verbose)


def _serve_until_stopped(settings: Settings, database: str, address: Address, limits: Limits, *, verbose: bool) -> None:
    from jobs.serving.thrift import serving
    from jobs.serving.watch import Restarts, stop_signal, why_it_ended

    progress = Progress()
    progress.say(f"faultline serve: starting Spark over {settings.lake}")
    stop, restarts, ended = None, Restarts(), None
    while stop is None or ended is not None:
        with serving(settings, database, address, limits, verbose=verbose) as server:
            stop = stop or stop_signal()
            _say_what_is_served(server, address, progress)
            print(
                f"faultline serve: ready at {server.url} ({len(server.done.tables)} tables,"
                f" {len(server.done.views)} views); Ctrl-C stops it",
                flush=True,
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
