"""`faultline what-if`: its options, and the run behind them."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from jobs.runs.run import Run
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.spark.session import running
from jobs.text.progress import Progress
from jobs.what_if.asked import Asked, asked_policies
from jobs.what_if.picture import check_picture, write_picture
from jobs.what_if.run import run_what_if
from jobs.what_if.summary import summarize_what_if
from jobs.what_if.summary_text import what_if_text


def asked_by(options: argparse.Namespace) -> Asked:
    """The policies that the options ask.

    Raises:
        FaultlineError: one of its subclasses; nothing was started yet.
    """
    if options.picture is not None:
        check_picture(Path(options.picture))
    return asked_policies(
        released_profiles(),
        names=options.policies,
        ladders=options.ladders,
        files=[Path(file) for file in options.ladder_files],
        sweeps=options.sweeps,
    )


def what_if_answer(options: argparse.Namespace, settings: Settings, run: Run, asked: Asked) -> str:
    """Run, publish, and give the answer as text or JSON; the picture is written on the way.

    Raises:
        FaultlineError: one of its subclasses.
    """
    progress = Progress()
    with running(settings, progress, verbose=options.verbose) as spark:
        run_what_if(spark, settings, run, asked, progress)
        with progress.step("reading the answers"):
            summary = summarize_what_if(spark, settings, run)
        if options.picture is not None:
            write_picture(summary, Path(options.picture))
        return json.dumps(asdict(summary), indent=1) if options.json else what_if_text(summary)
