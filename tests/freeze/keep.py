"""Runs every case with the program of one commit, and keeps what it published and printed outside the repository."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import queue
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet as pq

from tests.freeze.cases import ROOT, Case
from tests.freeze.expected import APART
from tests.freeze.program import KeepError, Program, check_out, git
from tests.freeze.rows import in_order, numbered, placeless, without_places

PINS = ("pyspark", "delta-spark", "deltalake", "pyarrow")
_RUN_ID = re.compile(r'(?<="run_id": ")[^"]*|\b(?=\d*[a-f])[0-9a-f]{12}\b')


def keep(
    folder: Path,
    revision: str,
    cases: Sequence[Case],
    *,
    inputs_of: Path | None,
    at_once: int,
    say: Callable[[str], None],
) -> bool:
    """Run the cases with the revision's own code; whether each ended as it should: only then there is a freeze.

    Args:
        folder: gets `inputs/`, `cases/`, `logs/` and at the end `manifest.json`; an interrupted keep goes on in it.
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
    found = git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if found.returncode:
        raise KeepError(f"there is no commit {revision}; name one of this repository")
    commit = found.stdout.decode().strip()
    if git("status", "--porcelain").stdout and revision == "HEAD":
        say("what is not committed is left out")
    hashes = _make_inputs(folder / "inputs", cases, inputs_of)
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="faultline-freeze-") as scratch:
        tree = Path(scratch, "tree")
        check_out(commit, tree)
        kept = _run_all(folder, tree, cases, _Basis(commit, hashes), at_once, say)
    wrong = [case for case in cases if case.name not in kept or tuple(kept[case.name]["exit_codes"]) != case.exit_codes]
    for case in wrong:
        ended = kept[case.name]["exit_codes"] if case.name in kept else "no end"
        say(f"{case.name} ended with {ended} instead of {[*case.exit_codes]}; see {folder / 'logs'}")
    if wrong:
        say(f"nothing is kept yet; the same command goes on with {len(wrong)} of {numbered(len(cases), 'case')}")
        return False
    seconds = round(time.monotonic() - started)
    manifest = {
        "commit": commit,
        "python": platform.python_version(),
        "pins": {name: version(name) for name in PINS},
        "seconds": seconds,
        "cases": {case.name: kept[case.name] for case in cases},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    tables = [table for entry in kept.values() for table in entry["tables"].values()]
    rows = sum(table["rows"] for table in tables)
    what = (
        f"{numbered(len(tables), 'table')} of {numbered(len(kept), 'case')}, {numbered(rows, 'row')} of {commit[:12]}"
    )
    say(f"{what} in {seconds / 60:.0f} minutes: {folder}")
    return True


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


@dataclass(frozen=True)
class _Basis:
    """What a kept case rests on: a case with the same is not run again when an interrupted keep goes on."""

    commit: str
    inputs: Mapping[str, str]

    def of(self, case: Case) -> dict[str, Any]:
        """As the case's own file has it."""
        commands = [list(command) for command in case.commands]
        return {"commit": self.commit, "inputs": self.inputs[case.name], "commands": commands}


def _run_all(
    folder: Path, tree: Path, cases: Sequence[Case], basis: _Basis, at_once: int, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Each case in one of a few processes; case to its entry of the manifest."""
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    kept: dict[str, dict[str, Any]] = {}
    for case in cases:
        file = folder / "cases" / case.name / "case.json"
        done = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        if basis.of(case).items() <= done.items() and tuple(done["exit_codes"]) == case.exit_codes:
            kept[case.name] = done
        else:
            waiting.put(case)

    def work(number: int) -> None:
        with (folder / "logs" / f"process-{number}.txt").open("w", encoding="utf-8") as log:
            program = Program(tree, log)
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
                    program.ends()
                    program = Program(tree, log)
                    continue
                entry |= {**basis.of(case), "seconds": round(time.monotonic() - began)}
                (folder / "cases" / case.name / "case.json").write_text(json.dumps(entry), encoding="utf-8")
                kept[case.name] = entry
                rows = sum(table["rows"] for table in entry["tables"].values())
                published = f"{numbered(len(entry['tables']), 'table')}, {numbered(rows, 'row')}"
                say(f"{case.name}: {published}, {entry['seconds']} s")
            program.ends()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(min(at_once, waiting.qsize()))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return kept


def _run(program: Program, folder: Path, tree: Path, case: Case) -> dict[str, Any]:
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
    return {"exit_codes": exit_codes, "tables": tables, "texts": texts}


def _tables_of(lake: Path) -> list[Path]:
    return sorted(log.parent for log in lake.glob("*/_delta_log"))


def _keep_table(path: Path, folder: Path, places: dict[str, str]) -> dict[str, Any]:
    """Write the table's rows in order, without places; their number and a hash of what is not a matter of the run."""
    rows = in_order(without_places(deltalake.DeltaTable(str(path)).to_pyarrow_table(), places))
    pq.write_table(rows, folder / f"{path.name}.parquet", compression="zstd")
    apart = {*APART["*"], *APART.get(path.name, ())}
    hashed = io.BytesIO()
    pq.write_table(in_order(rows.drop_columns([name for name in rows.column_names if name in apart])), hashed)
    return {"rows": rows.num_rows, "sha256": hashlib.sha256(hashed.getvalue()).hexdigest()}
