"""A missing table of a lake is copied, not created: Spark creates each once in a session, for all tests.

What is copied is what the program itself made. Where a copy cannot be had, the program creates the table, and fails as
it does.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.lake.definitions import create_or_check
from jobs.tables import Table
from jobs.uri import local_folder


@contextmanager
def copied(folder: Path) -> Iterator[None]:
    """In the block, runs in this process take missing tables from `folder`, which is filled as they are asked for."""
    made, lock = list[Table](), threading.Lock()

    def origin(spark: SparkSession, table: Table) -> Path:
        with lock:
            if table not in made:
                create_or_check(spark, f"{folder}/{len(made)}", table)
                made.append(table)
            return folder / f"{made.index(table)}"

    def copy_or_check(spark: SparkSession, path: str, table: Table) -> None:
        there = local_folder(path)
        if there is not None and not there.exists():
            try:
                shutil.copytree(origin(spark, table), there)
            except OSError as error:
                if not isinstance(error, FileExistsError):
                    shutil.rmtree(there, ignore_errors=True)
            else:
                return
        create_or_check(spark, path, table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.lake.tables_io.create_or_check", copy_or_check)
        yield
