"""Definition of a frame that a flow writes between two stages; not a table."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType


@dataclass(frozen=True)
class Frame:
    """Rows within a run.

    Attributes:
        name: name under which a stage materializes it.
        grain: what one row is.
        keys: columns that together are unique; empty = rows may be equal.
        columns: all columns in order; the comment gives the unit and the meaning of null.
    """

    name: str
    grain: str
    keys: tuple[str, ...]
    columns: tuple[StructField, ...]

    def columns_of(self, rows: DataFrame) -> DataFrame:
        """The rows with the columns of this definition, in its order.

        Raises:
            TypeError: a column is missing or has another type.
        """
        differences = self.differences(rows.schema)
        if differences:
            raise TypeError("; ".join(differences))
        return rows.select(*(column.name for column in self.columns))

    def differences(self, schema: StructType) -> list[str]:
        """One message per column that is missing or has another type; ignores nullability."""
        types = {field.name: field.dataType.simpleString() for field in schema}
        expected = {column.name: column.dataType.simpleString() for column in self.columns}
        return [
            f"{self.name}.{name} is {types.get(name, 'missing')}, expected {kind}"
            for name, kind in expected.items()
            if types.get(name) != kind
        ]
