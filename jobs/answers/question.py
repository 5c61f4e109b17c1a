"""One thing to ask `faultline show`: a table, the columns that fit a screen, and its filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.answers.runs import Flow
from jobs.tables import Table


@dataclass(frozen=True)
class Question:
    """One thing to ask.

    Attributes:
        table: the table that has the answer.
        screen: column to its heading in the text; `host`, `held_by` and `should_be_held_by` are made of others, and
            `owner` is left out where settings name none. JSON and CSV have every column of the table.
        narrowed_by: option to the column that must equal it.
        interval: columns of a row's start and end, epoch ms, the end exclusive; None for a moment.
        order: columns that the rows are sorted by.
        none: what to say when no row matches.
        flow: the flow that publishes the table.
        more_words: column to words that it may hold beside those of the table's closed list.
        no_length: what a row means that begins and ends at one instant; empty where none does.
    """

    table: Table
    screen: Mapping[str, str]
    narrowed_by: Mapping[str, str]
    interval: tuple[str, str] | None
    order: tuple[str, ...]
    none: str
    flow: Flow
    more_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    no_length: str = ""

    @property
    def bounds(self) -> tuple[str, str]:
        """Columns of a row's start and end; for a moment twice the column by which the rows are sorted."""
        return self.interval or (self.order[0], self.order[0])

    @property
    def closed(self) -> frozenset[str]:
        """Columns to narrow by that have no values but `words`."""
        return frozenset(self.narrowed_by.values()) & self.table.closed_lists.keys()

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Column to narrow by to its words; a column that is not closed may hold others."""
        return {
            column: (*self.table.closed_lists.get(column, ()), *self.more_words.get(column, ()))
            for column in (*self.closed, *self.more_words)
        }
