"""What `show`, `explain` and `report` share: published days, read without Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jobs.cli.call import Call
from jobs.cli.days import DayOptions
from jobs.cli.options import LakeOptions
from jobs.settings.model import Settings

if TYPE_CHECKING:  # it imports packages of an extra
    from jobs.answers.explain_isolation import Ladders, Released
    from jobs.answers.published import Published


def settings_to_read(call: Call, command: str, packages: Sequence[str], lake: LakeOptions) -> Settings:
    """All settings of a command that needs these packages of the extra `report`.

    Raises:
        SettingsError: or one of its subclasses.
        PlatformError: a package is missing.
    """
    from jobs.spark.environment import check_extra

    settings = call.settings(lake)
    check_extra(f"faultline {command}", packages)
    return settings


def client_rules(settings: Settings) -> tuple[Released, Ladders]:
    """Rules of each released profile by its name, and the ladders that settings give producers."""
    from jobs.settings.client_profiles import released_profiles

    released = {profile.name: profile.policy(profile.name) for profile in released_profiles()}
    ladders = {
        name: (producer.latency_max_ms, producer.not_available_ms or ())
        for name, producer in settings.producers.items()
        if producer.latency_max_ms is not None
    }
    return released, ladders


def opened(settings: Settings, days: DayOptions) -> Published:
    """The published days that the options name, else the last one; of the cluster that an option or a setting names.

    Raises:
        UsageError: options that do not go together.
        LakeError: no lake, or one that cannot be read.
        InputMissingError: the days are not published.
    """
    from jobs.answers.days import not_published_text
    from jobs.answers.published import open_published
    from jobs.answers.runs import unsure_days
    from jobs.answers.settings_of_days import other_settings
    from jobs.answers.store import storage_options
    from jobs.answers.words import unsure_text

    cluster = settings.cluster if "cluster" in settings.origins else None
    store = storage_options(settings.lake, settings.spark)
    published = open_published(settings.lake, cluster, *days.span(), store)
    unpublished, unsure = not_published_text(published.not_published), unsure_text(unsure_days(published))
    for note in filter(None, (unpublished, unsure, other_settings(published))):
        sys.stderr.write(f"faultline: {note}\n")
    return published
