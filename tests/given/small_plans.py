"""How the sessions of tests plan."""

from __future__ import annotations

from jobs.spark.few_lines import FOR_FEW_LINES

SMALL = {**FOR_FEW_LINES, "spark.sql.shuffle.partitions": "2"}
"""Plans of a few rows, each run once; in two partitions, so that a test notices what only holds in one."""
