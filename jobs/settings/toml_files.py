"""Settings files, written by hand in TOML: an error says why one cannot be read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from jobs.errors import SettingsError


def read_toml(file: Path) -> dict[str, Any]:
    """The table in a settings file, which may be a pipe.

    Raises:
        SettingsError: it does not exist, cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(file.read_bytes().decode())
    except FileNotFoundError:
        raise SettingsError(f"settings file {file} does not exist; give an existing one with --settings") from None
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"settings file {file} is not valid TOML: {problem}") from problem
    except (OSError, ValueError, RecursionError) as problem:  # another encoding, nested too deeply
        raise SettingsError(
            f"settings file {file} cannot be read: {problem}; give another with --settings"
        ) from problem
