"""Every error a user can cause, one class each, with the exit code a scheduler sees.

A message is one sentence: the thing, the value, the fix. `jobs.cli.main.main` prints it to stderr and
exits with `exit_code`; `-v` adds the trace. Anything that is not a `FaultlineError` is our bug
and exits with 1.
"""

from __future__ import annotations

from typing import ClassVar

from jobs.text.terminal import escaped


class FaultlineError(Exception):
    """Root of all errors shown to users. Raised only through its subclasses."""

    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        """The sentence on one line: a name in it cannot forge another line or control the terminal."""
        return escaped(super().__str__())


class UsageError(FaultlineError):
    """Wrong command line: unknown option, invalid date, options that exclude each other."""

    exit_code = 2


class SettingsError(FaultlineError):
    """A settings file or `--set` that cannot be used: not TOML, an unknown key, a value of the wrong type."""

    exit_code = 2


class SettingValueError(SettingsError):
    """An invalid value of the right type, such as a share above 1."""


class PlatformError(FaultlineError):
    """Java, Python, pyspark, delta-spark or the Delta jars are missing or incompatible."""

    exit_code = 2


class InputMissingError(FaultlineError):
    """A path that does not exist, a glob without a match, or files without a line of the requested day."""

    exit_code = 3


class InputUnreadableError(FaultlineError):
    """A file that cannot be read to its end: truncated or corrupt gzip, wrong extension, no permission."""

    exit_code = 3


class TooManyBadLinesError(FaultlineError):
    """More quarantined lines than `max_bad_fraction` allows; nothing of the flow was published."""

    exit_code = 4


class LakeBusyError(FaultlineError):
    """Another run holds the lake or took it over, or another writer changed the same day concurrently."""

    exit_code = 5


class ReconciliationError(FaultlineError):
    """Counts do not add up."""

    exit_code = 6


class LakeError(FaultlineError):
    """The lake cannot be read, written or registered: wrong schema version, no permission, disk full, a name taken."""


class ConditionMetError(FaultlineError):
    """A `--fail-on` condition held. The tables are published; the exit code informs the scheduler."""

    exit_code = 7
