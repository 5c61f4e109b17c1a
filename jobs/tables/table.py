"""Definition of a published table: its columns, keys, checks and version, in one frozen value."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

TEXT, LONG, INT, FLAG, DAY, INSTANT = (
    StringType(),
    LongType(),
    IntegerType(),
    BooleanType(),
    DateType(),
    TimestampType(),
)

VERSION_PROPERTY = "faultline.tableVersion"
"""Table property that holds `Table.version`."""


@dataclass(frozen=True)
class Table:
    """A Delta table of the lake, partitioned by `event_date`.

    Attributes:
        name: folder below the lake, and name in a catalog.
        grain: what one row is.
        keys: columns that together are unique within the table.
        columns: all columns; the comment gives the unit and the meaning of null.
        checks: constraint name → SQL condition; a write that breaks one is rejected.
        version: raised whenever columns or their meaning change; a lake with another version is rejected.
        closed_lists: column → allowed values, also of the entries of an array; each becomes a check.
    """

    name: str
    grain: str
    keys: tuple[str, ...]
    columns: tuple[StructField, ...]
    checks: dict[str, str] = field(default_factory=dict)
    version: int = 1
    closed_lists: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def schema(self) -> StructType:
        """The columns as a Spark schema, comments included."""
        return StructType(list(self.columns))

    @property
    def skipped_by(self) -> tuple[str, ...]:
        """Columns with min and max per file, by which readers skip files: the cluster and the instants.

        Files of a day contain nearly all values of the other columns, and collecting their statistics costs a fifth
        of the write or more (bench/TRIED.md).
        """
        names = self.schema.fieldNames()
        instants = {name.removesuffix("_at") for name in names if name.endswith("_at")}
        return tuple(
            name for name in names if name == "cluster" or name.removesuffix("_ms").removesuffix("_at") in instants
        )

    @property
    def constraints(self) -> dict[str, str]:
        """All checks by name, including those of closed lists."""
        return self.checks | {
            f"{name}_is_known": self._is_known(name, values) for name, values in self.closed_lists.items()
        }

    def _is_known(self, name: str, values: tuple[str, ...]) -> str:
        listed = ", ".join(f"'{value}'" for value in values)
        if isinstance(self.schema[name].dataType, ArrayType):
            return f"{name} IS NULL OR size(array_except({name}, array({listed}))) = 0"
        return f"{name} IS NULL OR {name} IN ({listed})"


def broken_log(folder: Path) -> str | None:
    """Damage to the Delta log of a local table that readers may not notice, or None.

    Readers skip an empty commit, as left by a power failure, and may skip one with bad bytes, along with its rows.
    """
    if not folder.exists():
        return None
    log = folder / "_delta_log"
    last_checkpoint = max((path.name[:20] for path in log.glob("*.checkpoint*")), default="")
    commits = sorted(path for path in log.glob("*.json") if ".checkpoint" not in path.name)
    for path in commits:
        if path.name[:20] > last_checkpoint and not _is_commit(path.read_bytes()):
            return f"_delta_log/{path.name} is empty or not JSON"
    return None if commits else "it has files, but no _delta_log"


def _is_commit(content: bytes) -> bool:
    """Whether there is at least one line, and all lines are JSON.

    >>> _is_commit(b'{"commitInfo": {}}'), _is_commit(b""), _is_commit(b'{"add": {"path": "a')
    (True, False, False)
    """
    try:
        return bool([json.loads(line) for line in content.splitlines()])
    except ValueError:
        return False


def sql_text(value: str) -> str:
    """The value as a literal of Spark's SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def column(name: str, kind: DataType, comment: str) -> StructField:
    """A nullable column; the comment says what null means."""
    return StructField(name, kind, True, {"comment": comment})


def required(name: str, kind: DataType, comment: str) -> StructField:
    """A column that is never null."""
    return StructField(name, kind, False, {"comment": comment})


def instant(name: str, comment: str, *, nullable: bool = False) -> tuple[StructField, StructField]:
    """An instant as two columns: `<name>_ms` (epoch milliseconds) and `<name>_at` (TIMESTAMP, UTC)."""
    return (
        StructField(f"{name}_ms", LONG, nullable, {"comment": f"{comment}; epoch ms"}),
        StructField(f"{name}_at", INSTANT, nullable, {"comment": f"{comment}; UTC"}),
    )


EVENT_DATE = required("event_date", DAY, "UTC day of the row; the partition")
CLUSTER = required("cluster", TEXT, "RocketMQ cluster, from the log or the setting `cluster`")
PRODUCER = (
    required("client_id", TEXT, "client id of the producer"),
    required("producer_group", TEXT, "producer group; empty when not logged"),
)
PROCESS = required("process", TEXT, "process of the producer: its process_id, else its client id")
REPLAYED_UNDER = (
    required("profile", TEXT, "rules it was replayed under: a profile of conf/profiles.toml"),
    required("policy", TEXT, "the profile, or profile and own ladder of the producer"),
)
BROKER_NAME = required("broker_name", TEXT, "broker name")
