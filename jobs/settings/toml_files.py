"""TOML files written by hand: an error says why one cannot be read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jobs.errors import FaultlineError, SettingsError

_MOST_BYTES = 1_000_000  # settings of ten thousand groups


def read_toml(file: Path, what: str, option: str, error: type[FaultlineError] = SettingsError) -> dict[str, Any]:
    """The table in the file.

    Args:
        file: may be a pipe.
        what: kind of file, for messages.
        option: the option that takes it, for messages.
        error: class to raise.

    Raises:
        FaultlineError: `error`; the file does not exist, cannot be read, is too large or too deep, or is not TOML.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise error(f"{what} {file} has more than {_MOST_BYTES:,} bytes; give a smaller one with {option}")
        with not_too_deep(f"{what} {file}", error):
            return tomllib.loads(content.decode())
    except FileNotFoundError:
        raise error(f"{what} {file} does not exist; give an existing one with {option}") from None
    except tomllib.TOMLDecodeError as problem:
        raise error(f"{what} {file} is not valid TOML: {problem}") from problem
    except (OSError, ValueError) as problem:  # another encoding, or a name with a NUL
        raise error(f"{what} {file} cannot be read: {problem}; give another with {option}") from problem


@contextmanager
def not_too_deep(what: str, error: type[FaultlineError] = SettingsError) -> Iterator[None]:
    """Turn Python's recursion error into a sentence about `what`."""
    try:
        yield
    except RecursionError:
        raise error(f"{what}: tables or lists are nested too deeply; no setting needs more than five levels") from None
