"""What `show`, `explain` and `report` share: published days, read without Spark."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobs.cli.call import Call
from jobs.cli.days import DayOptions
from jobs.cli.options import LakeOptions
from jobs.cli.times import TimeOptions

if TYPE_CHECKING:  # it imports packages of an extra
    from jobs.answers.explain_isolation import Ladders, Released
    from jobs.answers.published import Published


@dataclass(frozen=True)
class Where:
    """The lake to read, and the settings that matter for it.

    Attributes:
        lake: root of the lake.
        cluster: from an option or a setting; None when neither names one.
        owners: producer or consumer group, or a glob of groups, to its owner.
        options: for delta-rs; never shown, as they may hold secrets.
    """

    lake: str
    cluster: str | None
    owners: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def lake_of(call: Call, command: str, packages: Sequence[str], lake: LakeOptions, cluster: str | None) -> Where:
    """The lake that options or settings name.

    Args:
        call: of the command.
        command: its name.
        packages: those of the extra `report` that it needs.
        lake: where the tables lie.
        cluster: the option.

    Raises:
        SettingsError: or one of its subclasses.
        PlatformError: a package is missing.
    """
    from jobs.answers.store import storage_options
    from jobs.spark.environment import check_extra

    settings = call.settings(lake)
    check_extra(f"faultline {command}", packages)
    named = cluster or (settings.cluster if "cluster" in settings.origins else None)
    return Where(settings.lake, named, settings.owners, storage_options(settings.lake, settings.spark))


def client_rules(call: Call, lake: LakeOptions) -> tuple[Released, Ladders]:
    """Rules of each released profile by its name, and the ladders that settings give producers.

    Raises:
        SettingsError: or one of its subclasses.
    """
    from jobs.settings.client_profiles import released_profiles

    released = {profile.name: profile.policy(profile.name) for profile in released_profiles()}
    ladders = {
        name: (producer.latency_max_ms, producer.not_available_ms or ())
        for name, producer in call.settings(lake).producers.items()
        if producer.latency_max_ms is not None
    }
    return released, ladders


def opened(where: Where, days: DayOptions, times: TimeOptions | None = None) -> Published:
    """The published days that the options name, else those of the times, else the last one.

    Raises:
        UsageError: options that do not go together.
        LakeError: no lake, or one that cannot be read.
        InputMissingError: the days are not published.
    """
    from jobs.answers.days import not_published_text
    from jobs.answers.published import open_published
    from jobs.answers.runs import unsure_days
    from jobs.answers.settings_of_days import other_settings
    from jobs.answers.words import unsure_text

    published = open_published(where.lake, where.cluster, *(times or TimeOptions()).span(days), where.options)
    unpublished, unsure = not_published_text(published.not_published), unsure_text(unsure_days(published))
    for note in filter(None, (unpublished, unsure, other_settings(published))):
        sys.stderr.write(f"faultline: {note}\n")
    return published
