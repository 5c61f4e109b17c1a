"""The options of `faultline doctor`; imports nothing that may be missing on a machine that is not well."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

DOCTOR = "whether this machine and lake are fit for a run: a line per check, with the fix; exit 2 if something is wrong"


def add_doctor_command(
    commands: argparse._SubParsersAction[Any], add_inputs: Callable[[argparse._ActionsContainer], None]
) -> None:
    """Add the command to the program's."""
    doctor = commands.add_parser("doctor", help=DOCTOR, description=f"{DOCTOR.capitalize()}.")
    add_inputs(doctor.add_argument_group("input and lake (a PATH is a file, a folder or a glob)"))
    doctor.add_argument("--session", action="store_true", help="start Spark too (some seconds)")
    doctor.add_argument("--json", action="store_true", help="as one JSON object")
    doctor.add_argument("-v", "--verbose", action="store_true", help="show the trace of an error")
