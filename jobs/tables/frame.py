"""Definition of a frame that one stage of a flow hands to the next: no table holds it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StructField, StructType


@dataclass(frozen=True)
class Frame:
    """Rows within a run.

    Attributes:
        name: under which the stage materializes it.
        grain: what one row is.
        keys: columns that together are unique; none = rows may be equal.
        columns: every column in its order, with its unit and the meaning of null in the comment.
    """

    name: str
    grain: str
    keys: tuple[str, ...]
    columns: tuple[StructField, ...]

    def differences(self, schema: StructType) -> list[str]:
        """What is other in the schema of such rows: a sentence per column; whether it may be null does not count."""
        expected = {each.name: each.dataType.simpleString() for each in self.columns}
        found = {each.name: each.dataType.simpleString() for each in schema}
        lacking = [f"{self.name} lacks {name} {kind}" for name, kind in expected.items() if name not in found]
        extra = [
            f"{self.name} has {name} {kind}, which it does not say"
            for name, kind in found.items()
            if name not in expected
        ]
        other = [
            f"{self.name}.{name} is {found[name]}, and is said to be {kind}"
            for name, kind in expected.items()
            if name in found and found[name] != kind
        ]
        return lacking + extra + other
