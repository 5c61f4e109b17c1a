"""Options that several commands which write the lake share; read without Spark."""

from __future__ import annotations

import argparse


def add_break_lock(how: argparse._ActionsContainer) -> None:
    """`--break-lock`."""
    how.add_argument(
        "--break-lock",
        action="store_true",
        help="take the lake from a run that holds it and hangs; that run publishes nothing more",
    )
