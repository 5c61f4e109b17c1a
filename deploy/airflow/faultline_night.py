# ruff: noqa: INP001 - Airflow's folder of DAGs is not a package
"""Airflow 3: yesterday's night on a cluster, missed nights one after another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from airflow.providers.standard.hooks.subprocess import SubprocessHook
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.timetables.interval import CronDataIntervalTimetable

COMMAND = [
    "/opt/faultline/bin/spark-submit-cluster.sh",
    "nightly",
    "--date={{ data_interval_start | ds }}",
    "--settings=/etc/faultline/site.toml",
    "--wait=60",
    "--fail-on=CRITICAL",
]
RETRIED = {1: "failed", 5: "another run holds the lake"}
FINAL = {
    2: "wrong usage, settings or machine",
    3: "input is missing or cannot be read",
    4: "too many bad lines",
    6: "counts do not add up",
    7: "published, and a condition of --fail-on held",
}


class FaultlineOperator(BaseOperator):
    """A command of Faultline; its exit code decides whether another try can help."""

    template_fields = ("command",)

    def __init__(self, *, command: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.command = command

    @cached_property
    def _process(self) -> SubprocessHook:
        return SubprocessHook()

    def execute(self, context: Any) -> None:  # noqa: ARG002 - Airflow's signature
        """Run it.

        Raises:
            AirflowException: another try can help.
            AirflowFailException: none can; Airflow alerts at once.
        """
        code = self._process.run_command(list(self.command)).exit_code
        if code in FINAL:
            raise AirflowFailException(f"exit code {code}: {FINAL[code]}")
        if code:
            raise AirflowException(f"exit code {code}: {RETRIED.get(code, 'ended by a signal')}")

    def on_kill(self) -> None:
        """End it with SIGTERM: it gives back the lake."""
        self._process.send_sigterm()


with DAG(
    "faultline_night",
    schedule=CronDataIntervalTimetable("30 1 * * *", timezone="UTC"),
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    catchup=True,
    max_active_runs=1,
):
    FaultlineOperator(task_id="nightly", command=COMMAND, retries=3, retry_delay=timedelta(minutes=10))
