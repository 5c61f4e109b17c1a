"""One call of the program: its clock, its secrets, and what all commands do with them."""

from __future__ import annotations

import datetime as dt
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from jobs.cli.options import LakeOptions, Paths
from jobs.errors import UsageError
from jobs.settings.load import load_settings, settings_of
from jobs.settings.model import Settings
from jobs.settings.paths import PATH_KEYS
from jobs.text.redaction import secrets_of

if TYPE_CHECKING:  # it imports Spark
    from jobs.runs.run import Run

_NO_PATHS: Paths = MappingProxyType({})


@dataclass(frozen=True)
class Call:
    """What a command gets besides its own options.

    Attributes:
        clock: returns the current time, UTC.
        secrets: values that must never be printed; loading settings adds theirs.
    """

    clock: Callable[[], dt.datetime]
    secrets: set[str] = field(default_factory=set)

    def settings(self, lake: LakeOptions, paths: Paths = _NO_PATHS, *, with_lake: bool = True) -> Settings:
        """All settings; those of the shipped samples if no settings file, lake or input is given.

        Args:
            lake: where the tables lie, and what else is set.
            paths: what to read.
            with_lake: the command needs a lake.

        Raises:
            SettingsError: or one of its subclasses.
            UsageError: no lake is named.
        """
        inputs = {f"inputs.{name}.path": list(named) for name, named in paths.items() if named}
        options = inputs if lake.lake is None else {**inputs, "lake": lake.lake}
        names_places = options or not settings_of(lake.assignments).isdisjoint(PATH_KEYS)
        files = [Path(name) for name in lake.settings] if lake.settings or names_places else _samples()
        if lake.cluster is not None:
            options = {**options, "cluster": lake.cluster}
        settings = load_settings(files, lake.assignments, options)
        if with_lake and not settings.lake:
            raise UsageError("no lake is named; give --lake DIR or the setting lake")
        self.secrets.update(secrets_of(settings.spark))
        return settings

    def settings_for_spark(self, lake: LakeOptions, paths: Paths = _NO_PATHS) -> Settings:
        """All settings, after a check that Spark can start on this machine.

        Raises:
            FaultlineError: as of `settings`, or a `PlatformError`.
        """
        from jobs.spark.environment import check_environment

        settings = self.settings(lake, paths)
        check_environment()
        return settings

    def run(
        self,
        command: str,
        days: Sequence[dt.date] = (),
        *,
        allow_empty: bool = False,
        cascade: bool = True,
        break_lock: bool = False,
        wait_minutes: int = 0,
    ) -> Run:
        """A run of the command, with an id of its own."""
        from jobs.runs.run import Run

        return Run(
            uuid.uuid4().hex[:12],
            command,
            tuple(days),
            allow_empty,
            cascade,
            self.clock,
            break_lock,
            dt.timedelta(minutes=wait_minutes),
        )


def _samples() -> list[Path]:
    """The settings of the shipped samples, used if neither settings nor a lake nor input is given."""
    homes = (Path.cwd(), os.environ.get("FAULTLINE_HOME"))
    return [file for home in homes if home and (file := Path(home, "conf/local.toml")).is_file()][:1]
