"""What must not get in or out: sockets that the network reaches, code from data."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.given.processes import children, listening

ROOT = Path(__file__).parents[2]
CODE_FROM_DATA = {"eval", "exec", "compile", "__import__"}
READERS_OF_CODE = {"pickle", "cloudpickle", "marshal", "shelve", "yaml", "dill", "joblib"}


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.fault(44)
def test_a_run_listens_to_this_machine_alone(spark: SparkSession) -> None:
    assert spark.range(10).repartition(3).count() == 10
    found = listening(children(os.getpid()))
    assert found
    assert {address for address, _ in found} <= LOOPBACK


@pytest.mark.fault(44)
def test_the_probe_sees_what_is_open() -> None:
    with socket.create_server(("0.0.0.0", 0)) as opened:
        assert ("00000000", opened.getsockname()[1]) in listening([os.getpid()])


WITH_PAGE = """
import os
from jobs.spark.session import open_session
from tests.given.processes import children, listening
spark = open_session({"spark.ui.enabled": "true", "spark.ui.port": "0"})
assert spark.sparkContext.uiWebUrl
print(*sorted({address for address, _ in listening(children(os.getpid()))}))
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.fault(44)
def test_sparks_web_page_stays_here_too() -> None:
    done = subprocess.run([sys.executable, "-c", WITH_PAGE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()
    assert set(done.stdout.split()) <= LOOPBACK


@pytest.mark.fault(43)
def test_no_module_runs_code_from_data() -> None:
    breaches = []
    for package in ("jobs", "udfs", "conf", "bin"):
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.Import(names=names) if {name.name.split(".")[0] for name in names} & READERS_OF_CODE:
                        breaches.append((file.name, node.lineno))
                    case ast.ImportFrom(module=str(module)) if module.split(".")[0] in READERS_OF_CODE:
                        breaches.append((file.name, node.lineno))
                    case ast.Call(func=ast.Name(id=name)) if name in CODE_FROM_DATA:
                        breaches.append((file.name, node.lineno))
    assert breaches == []


@pytest.mark.fault(43)
@pytest.mark.parametrize("text", ["lake = \"__import__('os').system('touch owned')\"", "cluster = '${env:HOME}'"])
def test_settings_are_text_and_nothing_else(tmp_path: Path, text: str) -> None:
    from jobs.settings.load import load_settings

    (tmp_path / "site.toml").write_text(text)
    settings = load_settings([tmp_path / "site.toml"], [], {})
    assert getattr(settings, text.split(" ", 1)[0]).endswith(text.split("=", 1)[1].strip()[1:-1])
    assert not (ROOT / "owned").exists()
