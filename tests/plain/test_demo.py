"""`demo`: what it asks of nightly, and the lakes that it does not touch."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.cli.program import NAME, faultline
from jobs.settings.model import Settings
from jobs.sources.lake_apart import named_inputs
from jobs.tables import RUN_LOG
from tests.given.lakes import publish, write_rows
from tests.given.site import D1

pytestmark = pytest.mark.usefixtures("own_folder")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def nights(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Settings, str]]:
    """Settings and days of each night that would have run."""
    asked: list[tuple[Settings, str]] = []

    def run_flows(_: Any, settings: Settings, run: Any, *__: Any, **___: Any) -> None:
        asked.append((settings, f"{run.command} {run.days[0]}"))

    monkeypatch.setattr("jobs.spark.environment.check_environment", lambda: None)
    monkeypatch.setattr("jobs.cli.publish.run_flows", run_flows)
    return asked


def test_it_is_nightly_on_the_samples_into_a_lake_in_this_folder(
    nights: list[tuple[Settings, str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["demo"]) == 0
    ((settings, ran),) = nights
    assert (ran, settings.cluster, settings.lake) == (
        "nightly 2026-11-21",
        "LabCluster",
        str(tmp_path / "faultline-demo"),
    )
    samples = {str(ROOT / "data_samples" / kind) for kind in ("sends", "routes", "consumers", "client_logs")}
    assert samples < {path for _, path in named_inputs(settings.inputs)}
    said = capsys.readouterr()
    assert said.err == (
        f"faultline demo: nightly with the settings {ROOT}/conf/local.toml, into the lake {tmp_path}/faultline-demo\n"
    )
    assert said.out == (
        "\nNext:\n"
        "  faultline show night --lake faultline-demo\n"
        "  faultline report --lake faultline-demo\n"
        "  faultline export duckdb --lake faultline-demo --out faultline-demo.duckdb\n"
    )


def test_what_it_says_to_do_next_are_commands_that_the_program_takes(
    nights: list[tuple[Settings, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["demo", "--lake", "my lake"]) == 0
    assert nights[0][0].lake.endswith("/my lake")
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == 3
    for line in lines:
        _, name, *arguments = shlex.split(line)
        assert "my lake" in arguments
        with faultline.make_context(NAME, [name]) as context:
            faultline.commands[name].make_context(name, arguments, parent=context)


def test_the_demo_s_own_lake_is_published_again(nights: list[tuple[Settings, str]]) -> None:
    publish(Path("faultline-demo"), D1, cluster="LabCluster")
    assert cli.main(["demo"]) == 0
    assert len(nights) == 1


def started(lake: str, cluster: str) -> None:
    """A first run of the cluster that was ended: no day is published."""
    write_rows(Path(lake), RUN_LOG, [{"event_date": D1, "cluster": cluster, "flow": "ALLOCATION", "status": "STARTED"}])


def test_so_is_one_whose_first_night_was_ended(nights: list[tuple[Settings, str]]) -> None:
    started("faultline-demo", "LabCluster")
    assert cli.main(["demo"]) == 0
    assert len(nights) == 1


def test_a_lake_in_which_no_run_of_others_has_succeeded_is_not_touched(
    nights: list[tuple[Settings, str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    started("lake", "prod")
    assert cli.main(["demo", "--lake", "lake"]) == 2
    assert nights == []
    assert f"the lake {tmp_path}/lake holds runs of cluster prod, not of the demo;" in capsys.readouterr().err


def test_it_says_which_package_is_missing(
    nights: list[tuple[Settings, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("jobs.spark.environment.find_spec", lambda _: None)
    assert cli.main(["demo"]) == 2
    assert nights == []
    said = capsys.readouterr().err
    assert said.startswith("faultline: faultline demo needs packages that are not installed; run: ")
    assert said.endswith(" -m pip install deltalake\n")


def test_a_lake_of_others_is_not_touched(
    nights: list[tuple[Settings, str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for cluster in ("west", "east", "LabCluster"):
        publish(Path("lake"), D1, cluster=cluster)
    assert cli.main(["demo", "--lake", "lake"]) == 2
    assert nights == []
    assert capsys.readouterr().err == (
        f"faultline: the lake {tmp_path}/lake holds runs of cluster east, west, not of the demo; give --lake a"
        " folder of its own\n"
    )
