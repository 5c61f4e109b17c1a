"""A process that runs tests again and again, in one JVM: `python -m tests.mutants.worker`, in the copy's folder.

It takes a line of JSON, the arguments for pytest, and answers with one: `exit_code` and `failed`, the first test that
failed. Before each run it forgets the program's modules, so that the next import reads what the files say by then.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import pytest

FORGOTTEN = ("jobs", "udfs", "conf", "bench", "tests", "conftest")


class KeptSession:
    """A plugin of pytest: the session that the first test opens is that of all runs, and the first failure is noted."""

    def __init__(self) -> None:
        self._session: Any = None
        self.failed = ""

    def pytest_configure(self, config: pytest.Config) -> None:  # noqa: ARG002 - pytest goes by names
        import jobs.spark.session as room

        self.failed = ""
        opened = room.open_session

        def open_session(spark_settings: Mapping[str, str], *, verbose: bool = False) -> Any:
            if self._session is None:
                own = {
                    # A worker of Python that lived on would know the modules of the mutant before.
                    "spark.python.worker.reuse": "false",
                    "spark.sql.warehouse.dir": tempfile.mkdtemp(),
                }
                self._session = opened({**spark_settings, **own}, verbose=verbose)
                self._session.stop = lambda: None
            return self._session

        room.open_session = open_session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def is_left(self) -> None:
        """What a run left in the session goes."""
        if self._session is not None:
            self._session.catalog.clearCache()


def main() -> None:
    """Answer until stdin ends; what tests print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    kept = KeptSession()
    for line in sys.stdin:
        _forget()
        exit_code = int(pytest.main(json.loads(line), plugins=[kept]))
        kept.is_left()
        print(json.dumps({"exit_code": exit_code, "failed": kept.failed}), file=answers, flush=True)


def _forget() -> None:
    modules: dict[str, Any] = sys.modules
    for name in list(modules):
        if name.split(".")[0] in FORGOTTEN and name not in {"tests", "tests.mutants"} and name != __name__:
            del modules[name]


if __name__ == "__main__":
    main()
