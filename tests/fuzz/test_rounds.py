"""A minute of the fuzzer: one round of each kind of input from a fixed seed; `make fuzz` plays any number of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.rounds import play
from tests.fuzz.session import plant_canary

plant_canary()  # as this file is collected: before the session's JVM starts


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What each round publishes into, and what the next one finds."""
    return tmp_path_factory.mktemp("fuzz") / "lake"


@pytest.mark.parametrize("kind", ["settings", "options"])
def test_a_command_line_is_taken_or_refused(kind: str, tmp_path: Path, lake: Path) -> None:
    assert play(kind, 1, tmp_path, lake, "READ") == []


@pytest.mark.fault(7, 8, 9, 10, 12, 13, 14, 15, 24)
@pytest.mark.usefixtures("same_session")
def test_every_line_of_routes_is_accounted_for(tmp_path: Path, lake: Path) -> None:
    assert play("routes", 2, tmp_path, lake, "READ") == []


@pytest.mark.fault(7, 8, 9, 10, 12, 13, 14, 15, 24)
@pytest.mark.usefixtures("same_session")
@pytest.mark.parametrize("kind", ["sends", "snapshots"])
def test_every_line_is_published_or_accounted_for(kind: str, tmp_path: Path, lake: Path) -> None:
    """One run of each flow, over every format and every input."""
    assert play(kind, 1, tmp_path, lake, "RUN") == []


@pytest.mark.fault(1, 2, 3, 4, 6, 38)
@pytest.mark.usefixtures("same_session")
def test_an_odd_file_is_read_whole_or_refused(tmp_path: Path, lake: Path) -> None:
    assert play("files", 1, tmp_path, lake, "READ") == []
