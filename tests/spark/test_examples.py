"""The settings of conf/examples: a log of each shape becomes the very sends that a log of ours does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from jobs.settings.load import load_settings
from tests.given.foreign_logs import SHAPES, canonical, sample_attempts
from tests.given.send_logs import DAY, fates, stage

EXAMPLES = Path(__file__).parents[2] / "conf" / "examples"


def _rows(spark: SparkSession, folder: Path, files: list[Path], options: dict[str, Any]) -> list[Row]:
    settings = load_settings(files, ["cluster=main"], {"inputs.sends.path": [str(folder)], **options})
    staged = stage(spark, folder, settings=settings)
    rows = staged.sends(DAY).collect()
    assert fates(staged) == {"PUBLISHED": len(rows)}
    return sorted(rows, key=lambda row: (row["ended_at_ms"], row["client_id"], row["seq"]))


@pytest.mark.parametrize("shape", SHAPES)
def test_an_example_reads_a_log_of_its_shape_as_ours(spark: SparkSession, tmp_path: Path, shape: str) -> None:
    """Equal in each field, and in the hash of all: what follows from them is equal too."""
    attempts = sample_attempts(200)
    assert len({each["outcome"] for each in attempts}) > 2
    carried, write_foreign = SHAPES[shape]
    ours = _rows(spark, canonical(tmp_path / "ours", attempts, carried), [], {})
    theirs = _rows(spark, write_foreign(tmp_path / "theirs", attempts), [EXAMPLES / f"{shape}.toml"], {})
    assert theirs == ours
    assert len(theirs) == 200


def test_every_example_has_its_log() -> None:
    assert {file.stem for file in EXAMPLES.iterdir()} == set(SHAPES)
