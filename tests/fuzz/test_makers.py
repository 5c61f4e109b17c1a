"""What the fuzzer makes: the same of the same seed, and all of it sooner or later."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import sends, settings_texts, snapshots
from tests.fuzz.mutations import spoilt_json
from tests.fuzz.odd_files import ODD_FILES
from tests.fuzz.written import Written, is_surely_no_json

LINE = {"client_id": "c@1", "latency_ms": 7, "msg_id": "fuzz-0-0", "error": None}


def _made(folder: Path, seed: int) -> tuple[Written, dict[str, bytes]]:
    random = Random(seed)
    written = Written()
    for at, style in enumerate((sends.json_file, sends.csv_file, sends.parquet_file)):
        said = sends.attempts(random, 30, f"{at}", spoilt=0.5)
        written.files.append(style(random, folder, f"{at}", said, sends.any_names(random)))
    written.files += [snapshots.json_file(random, kind, folder, "3", 20, spoilt=0.5) for kind in snapshots.JSON_KINDS]
    written.files.append(snapshots.client_log(random, folder, "4", 50, spoilt=0.5))
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return written, files


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_gives_the_same_input(seed: int, tmp_path: Path) -> None:
    (first, files), (second, files_again) = _made(tmp_path / "a", seed), _made(tmp_path / "b", seed)
    assert [file.lines for file in first.files] == [file.lines for file in second.files]
    assert files.keys() == files_again.keys()
    assert settings_texts.wrong_settings(Random(seed)) == settings_texts.wrong_settings(Random(seed))


def test_every_file_has_lines_of_both_kinds(tmp_path: Path) -> None:
    written, _ = _made(tmp_path, 3)
    assert [file.source for file in written.files if not 0 < len(file.unclean) < len(file.lines)] == []
    for file in written.of("sends"):
        assert len(file.sends) + file.copies == sum(line.is_clean for line in file.lines)


def test_spoilt_lines_are_of_every_sort() -> None:
    made = [spoilt_json(Random(seed), LINE) for seed in range(2_000)]
    assert 0.2 < sum(map(is_surely_no_json, made)) / len(made) < 0.8
    for sort in (
        b"\\{\\'",
        b"\\x00",
        b"[^\\x00-\\x7f]",
        b"\n",
        b"NaN",
        b"007",
        rb"(\{.a.:\[){100}",
        b"9" * 1_000,
        b"\\\\ud800",
        b"env:",
    ):
        assert any(re.search(sort, line) for line in made), sort


def test_right_settings_are_many() -> None:
    made = {settings_texts.as_toml(settings_texts.right_settings(Random(seed))) for seed in range(100)}
    assert len(made) == 100


def test_odd_files_can_be_made(tmp_path: Path) -> None:
    for at, odd in enumerate(ODD_FILES):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        odd.make(Random(1), folder)
        assert len(list(folder.iterdir())) == 1, odd.what
