"""The options of `register` and `serve`; imported before there is a Spark."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

DATABASE = "faultline"  # jobs.serving.register imports Spark

TIME_LIMIT_S = 600
RESULT_LIMIT_MB = 256


def add_serving_commands(commands: Any, add_settings: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add both commands to the parser's `commands`."""
    does = "put tables, views and functions into the session's catalog, such as a Hive metastore"
    register = commands.add_parser("register", help=does, description=f"{does[0].upper()}{does[1:]}.")
    does = "answer SQL over the tables, for clients that speak JDBC, until it is stopped"
    serve = commands.add_parser("serve", help=does, description=f"{does[0].upper()}{does[1:]}.")
    for parser in (register, serve):
        parser.add_argument("--database", default=DATABASE, metavar="NAME", help=f"its name there; default {DATABASE}")
        add_settings(parser)
        parser.add_argument("-v", "--verbose", action="store_true", help="show the trace of an error")
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="address to listen at; default: this machine's own"
    )
    serve.add_argument("--port", type=int, default=10000, metavar="P", help="default 10000; 0 = any free one")
    serve.add_argument(
        "--time-limit-s",
        type=int,
        default=TIME_LIMIT_S,
        metavar="S",
        help=f"seconds after which a question is ended; default {TIME_LIMIT_S}",
    )
    serve.add_argument(
        "--result-limit-mb",
        type=int,
        default=RESULT_LIMIT_MB,
        metavar="MB",
        help=f"MB that the tasks of a question may hand back; default {RESULT_LIMIT_MB}",
    )
    serve.add_argument(
        "--allow-remote",
        action="store_true",
        help="take a --host that other machines reach; nobody is asked who they are",
    )
