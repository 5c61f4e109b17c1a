"""Definition of a frame that a flow writes between two stages; not a table."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField


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
            TypeError: columns are missing or have another type, nullable or not.
        """
        types = {field.name: field.dataType.simpleString() for field in rows.schema}
        expected = {column.name: column.dataType.simpleString() for column in self.columns}
        differences = [
            f"{self.name}.{name} is {types.get(name, 'missing')}, expected {kind}"
            for name, kind in expected.items()
            if types.get(name) != kind
        ]
        if differences:
            raise TypeError("; ".join(differences))
        return rows.select(*expected)
