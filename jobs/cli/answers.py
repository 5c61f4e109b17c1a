"""`faultline show` and `faultline report`, from their options to what is said."""

from __future__ import annotations

import argparse
import sys

from jobs.answers.published import Published, open_published
from jobs.answers.questions import QUESTIONS
from jobs.answers.show import Narrowed, as_csv, as_json, as_text, ask
from jobs.answers.words import unsure_text
from jobs.cli.answers_options import asked_days, asked_equal


def show(options: argparse.Namespace, lake: str, cluster: str | None) -> str:
    """What `faultline show` prints.

    Raises:
        UsageError: options that do not go together.
        LakeError: no lake, or one that cannot be read.
        InputMissingError: the days are not published.
    """
    narrowed = Narrowed(
        asked_equal(options, dict(QUESTIONS[options.subject].narrowed_by)), options.at_ms, options.limit
    )
    answer = ask(_published(options, lake, cluster), options.subject, narrowed)
    return {"text": as_text, "json": as_json, "csv": as_csv}[options.form](answer)


def report(options: argparse.Namespace, lake: str, cluster: str | None) -> str:
    """Write the page of `faultline report`, and say so.

    Raises:
        UsageError: the file cannot be written.
        LakeError: no lake, or one that cannot be read.
        InputMissingError: the days are not published.
    """
    from jobs.answers.report import write_report  # noqa: PLC0415 - `show` works without the packages of the page

    return write_report(_published(options, lake, cluster), options.output)


def _published(options: argparse.Namespace, lake: str, cluster: str | None) -> Published:
    published = open_published(lake, cluster, *asked_days(options))
    if published.unsure:
        sys.stderr.write(f"faultline: {unsure_text(published.unsure)}\n")
    return published
