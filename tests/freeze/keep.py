"""Runs every case with the program of one commit, and keeps what it published and printed outside the repository."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import queue
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet as pq

from tests.freeze.cases import ROOT, Case
from tests.freeze.expected import APART
from tests.freeze.rows import in_order, placeless, without_places

PINS = ("pyspark", "delta-spark", "deltalake", "pyarrow")
_RUN_ID = re.compile(r'(?<="run_id": ")[^"]*|\b(?=\d*[a-f])[0-9a-f]{12}\b')


class KeepError(Exception):
    """Nothing can be kept so."""


def keep(
    folder: Path,
    revision: str,
    cases: Sequence[Case],
    *,
    inputs_of: Path | None,
    at_once: int,
    say: Callable[[str], None],
) -> bool:
    """Run the cases with the revision's own code; whether each ended as it should.

    Args:
        folder: gets `inputs/`, `cases/`, `logs/` and at the end `manifest.json`.
        revision: a commit of this repository.
        cases: what to run.
        inputs_of: a folder kept before, whose inputs are taken; None = they are made.
        at_once: number of processes, a JVM each.
        say: takes a line of progress.

    Raises:
        KeepError: the folder lies within the repository or holds a freeze, or there is no such commit.
    """
    started, folder = time.monotonic(), folder.resolve()
    if folder.is_relative_to(ROOT):
        raise KeepError(f"{folder} lies within the repository; name a folder outside")
    if (folder / "manifest.json").exists():
        raise KeepError(f"{folder} holds a freeze already; name another folder")
    found = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if found.returncode:
        raise KeepError(f"there is no commit {revision}; name one of this repository")
    commit = found.stdout.decode().strip()
    if _git("status", "--porcelain").stdout and revision == "HEAD":
        say("what is not committed is left out")
    hashes = _make_inputs(folder / "inputs", cases, inputs_of)
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="faultline-freeze-") as scratch:
        tree = Path(scratch, "tree")
        _check_out(commit, tree)
        kept = _run_all(folder, tree, cases, at_once, say)
    for name, entry in kept.items():
        entry["inputs"] = hashes[name]
    seconds = round(time.monotonic() - started)
    manifest = {
        "commit": commit,
        "python": platform.python_version(),
        "pins": {name: version(name) for name in PINS},
        "seconds": seconds,
        "cases": {case.name: kept[case.name] for case in cases if case.name in kept},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    tables = [table for entry in kept.values() for table in entry["tables"].values()]
    rows = sum(table["rows"] for table in tables)
    what = f"{len(tables)} tables of {len(kept)} cases, {rows:,} rows of {commit[:12]}"
    say(f"{what} in {seconds / 60:.0f} minutes: {folder}")
    wrong = [case for case in cases if case.name not in kept or tuple(kept[case.name]["exit_codes"]) != case.exit_codes]
    for case in wrong:
        ended = kept[case.name]["exit_codes"] if case.name in kept else "no end"
        say(f"{case.name} ended with {ended} instead of {[*case.exit_codes]}; see {folder / 'logs'}")
    return not wrong


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)


def _check_out(commit: str, tree: Path) -> None:
    """The commit's files, without a trace in the repository."""
    archive = _git("archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tree, filter="data")


def _make_inputs(inputs: Path, cases: Sequence[Case], inputs_of: Path | None) -> dict[str, str]:
    """Write or copy each case's inputs; case to the hash of their names and bytes."""
    writers = {case.inputs: case.write for case in cases}
    for name, write in writers.items():
        shutil.rmtree(inputs / name, ignore_errors=True)
        if inputs_of is not None:
            if not (inputs_of / "inputs" / name).is_dir():
                raise KeepError(f"{inputs_of} has no inputs of {name}; leave out --inputs")
            shutil.copytree(inputs_of / "inputs" / name, inputs / name)
        else:
            (inputs / name).mkdir(parents=True)
            write(inputs / name)
    hashes = {name: _hash_of(inputs / name) for name in writers}
    return {case.name: hashes[case.inputs] for case in cases}


def _hash_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _run_all(
    folder: Path, tree: Path, cases: Sequence[Case], at_once: int, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Each case in one of a few processes; case to its entry of the manifest."""
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    kept: dict[str, dict[str, Any]] = {}

    def work(number: int) -> None:
        with (folder / "logs" / f"process-{number}.txt").open("w", encoding="utf-8") as log:
            program = _Program(tree, folder, log)
            while True:
                try:
                    case = waiting.get_nowait()
                except queue.Empty:
                    break
                began = time.monotonic()
                try:
                    entry = _run(program, folder, tree, case)
                except KeepError as error:
                    say(f"{case.name}: {error}")
                    program = _Program(tree, folder, log)
                    continue
                entry["seconds"] = round(time.monotonic() - began)
                kept[case.name] = entry
                rows = sum(table["rows"] for table in entry["tables"].values())
                say(f"{case.name}: {len(entry['tables'])} tables, {rows:,} rows, {entry['seconds']} s")
            program.ends()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(min(at_once, len(cases)))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return kept


class _Program:
    """A process of the tree's own code, which takes one command after another."""

    def __init__(self, tree: Path, folder: Path, log: Any) -> None:
        entry = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]["faultline"]
        environ = {
            **os.environ,
            "PYTHONPATH": str(tree),
            "FAULTLINE_HOME": str(tree),
            "FAULTLINE_CACHE": os.environ.get("FAULTLINE_CACHE", str(ROOT / ".faultline" / "jars")),
            "PYSPARK_PYTHON": sys.executable,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).parent / "drive.py"), str(tree), entry],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=folder / "logs",
            env=environ,
            text=True,
        )

    def run(self, arguments: Sequence[str]) -> dict[str, Any]:
        """What became of one command.

        Raises:
            KeepError: the process is gone.
        """
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(arguments), file=self._process.stdin, flush=True)
        reply = self._process.stdout.readline()
        if not reply:
            raise KeepError(f"the program ended during {' '.join(arguments)}")
        told: dict[str, Any] = json.loads(reply)
        return told

    def ends(self) -> None:
        """No more commands."""
        self._process.communicate()


def _run(program: _Program, folder: Path, tree: Path, case: Case) -> dict[str, Any]:
    """Run the case's commands into a new lake and keep its tables and answers."""
    own = folder / "cases" / case.name
    shutil.rmtree(own, ignore_errors=True)
    (own / "tables").mkdir(parents=True)
    (own / "texts").mkdir()
    lake = own / "lake"
    places = {str(lake): "<lake>", str(folder / "inputs"): "<inputs>", str(tree): "<tree>"}
    exit_codes, texts = [], []
    for number, arguments in enumerate(case.arguments(folder / "inputs", lake), 1):
        reply = program.run(arguments)
        exit_codes.append(reply["exit_code"])
        name = f"{number}-{arguments[0]}.txt"
        said = placeless(reply["answer"] + reply["complaint"], places)
        (own / "texts" / name).write_text(_RUN_ID.sub("<run>", said), encoding="utf-8")
        texts.append(name)
    tables = {path.name: _keep_table(path, own / "tables", places) for path in _tables_of(lake)}
    shutil.rmtree(lake, ignore_errors=True)
    commands = [list(command) for command in case.commands]
    return {"commands": commands, "exit_codes": exit_codes, "tables": tables, "texts": texts}


def _tables_of(lake: Path) -> list[Path]:
    return sorted(log.parent for log in lake.glob("*/_delta_log"))


def _keep_table(path: Path, folder: Path, places: dict[str, str]) -> dict[str, Any]:
    """Write the table's rows in order, without places; their number and a hash of what is no matter of the run."""
    rows = in_order(without_places(deltalake.DeltaTable(str(path)).to_pyarrow_table(), places))
    pq.write_table(rows, folder / f"{path.name}.parquet", compression="zstd")
    apart = {*APART["*"], *APART.get(path.name, ())}
    hashed = io.BytesIO()
    pq.write_table(in_order(rows.drop_columns([name for name in rows.column_names if name in apart])), hashed)
    return {"rows": rows.num_rows, "sha256": hashlib.sha256(hashed.getvalue()).hexdigest()}
