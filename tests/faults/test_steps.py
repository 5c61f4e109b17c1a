"""The steps that are swept are those that a run has: a new table or commit that nobody kills at is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from jobs.tables import POLICY_OUTCOMES, REPLAY_CHECKS, TABLES
from tests.faults.steps import GROUPS, SENDS
from tests.faults.undisturbed import UndisturbedRun


def test_every_table_of_the_flows_is_swept() -> None:
    """What-if answers are no flow: they are published by one commit, or none."""
    swept = {step.split()[0] for step in (*SENDS, *GROUPS)}
    assert swept == {table.name for table in TABLES} - {POLICY_OUTCOMES.name, REPLAY_CHECKS.name}


def _is_swept(run: UndisturbedRun, steps: Sequence[str]) -> None:
    assert sorted(run.steps) == sorted(["staging 1", *steps])
    assert run.commits == Counter(step.split()[0] for step in steps)


@pytest.mark.fault(25)
def test_the_commits_of_an_undisturbed_run_are_swept(undisturbed: UndisturbedRun) -> None:
    _is_swept(undisturbed, SENDS)


@pytest.mark.fault(25)
def test_the_commits_of_an_undisturbed_run_of_the_second_flow_are_swept(undisturbed_groups: UndisturbedRun) -> None:
    _is_swept(undisturbed_groups, GROUPS)
