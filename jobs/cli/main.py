"""Entry point: runs one command line, prints a failure as one sentence, returns the exit code.

Exit codes: 0 done · 2 wrong usage, settings or machine · 3 input missing or unreadable · 4 too many bad lines ·
5 the lake is busy · 6 counts do not add up · 7 a `--fail-on` condition held · 1 anything else ·
128 + its number when a signal ended it.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from jobs.errors import FaultlineError
from jobs.spark.environment import environment_checks
from jobs.spark.interruption import Interrupted, heeding_signals
from jobs.text.redaction import redacted, secrets_of
from jobs.text.terminal import escaped, one_line


def process() -> NoReturn:
    """Run the process's own command line, and end the process with its exit code.

    Python does not shut down: threads of Arrow may still let go of files of another store by calling Python, which
    then aborts the process.
    """
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # the terminal may be gone
            stream.flush()
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    verbose = "-v" in words or "--verbose" in words
    secrets = secrets_of(os.environ)
    try:
        with heeding_signals(to_the_end=arguments is None):
            code = _run(words, secrets)
            sys.stdout.flush()  # a closed pipe fails here, not while Python exits
            return code
    except (FaultlineError, Interrupted) as error:
        with suppress(OSError):  # the terminal may be gone
            _complain(str(error), secrets, verbose=verbose)
        return error.exit_code
    except BrokenPipeError:
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a JVM trace
        first_line = escaped((str(error).strip() or "no message").splitlines()[0][:300])
        unexpected = f"unexpected {type(error).__name__}: {first_line}; run it with -v and report it"
        _complain(unexpected, secrets, verbose=verbose)
        return 1


def _complain(sentence: str, secrets: set[str], *, verbose: bool) -> None:
    """Print the sentence on stderr, after the trace if asked for; secrets are redacted."""
    if verbose:
        print(redacted(traceback.format_exc(), secrets), file=sys.stderr)
    print(f"faultline: {one_line(redacted(sentence, secrets))}", file=sys.stderr)


def _run(words: Sequence[str], secrets: set[str]) -> int:
    """Run the command; secrets of the settings are added to `secrets`, so that an error can redact them."""
    try:
        import click  # noqa: F401 - a machine may lack it, which the sentence below names
    except ModuleNotFoundError:
        environment_checks()["click"]()
        raise
    from jobs.cli.call import Call
    from jobs.cli.program import run

    return run(words, Call(lambda: dt.datetime.now(dt.UTC), secrets))
