"""What `show` and `report` share: published days, read without Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jobs.cli.call import Call
from jobs.cli.days import DayOptions
from jobs.cli.options import LakeOptions
from jobs.cli.times import TimeOptions

if TYPE_CHECKING:  # it imports what an extra brings
    from jobs.answers.published import Published


def lake_of(
    call: Call, command: str, packages: Sequence[str], lake: LakeOptions, cluster: str | None
) -> tuple[str, str | None]:
    """Root of the lake, and the cluster where an option or a setting names one.

    Args:
        call: of the command.
        command: its name.
        packages: what it needs of the extra `report`.
        lake: where the tables lie.
        cluster: the option.

    Raises:
        SettingsError: or one of its subclasses.
        PlatformError: a package is missing.
    """
    from jobs.spark.environment import check_extra

    settings = call.settings(lake)
    check_extra(f"faultline {command}", "report", packages)
    return settings.lake, cluster or (settings.cluster if "cluster" in settings.origins else None)


def opened(lake: str, cluster: str | None, days: DayOptions, times: TimeOptions | None = None) -> Published:
    """The published days that the options name, else those of the times, else the last one.

    Raises:
        UsageError: options that do not go together.
        LakeError: no lake, or one that cannot be read.
        InputMissingError: the days are not published.
    """
    from jobs.answers.published import open_published
    from jobs.answers.runs import unsure_days
    from jobs.answers.settings_of_days import other_settings
    from jobs.answers.words import unsure_text

    published = open_published(lake, cluster, *(times or TimeOptions()).span(days))
    if unsure := unsure_days(published):
        sys.stderr.write(f"faultline: {unsure_text(unsure)}\n")
    if others := other_settings(published):
        sys.stderr.write(f"faultline: {others}\n")
    return published
