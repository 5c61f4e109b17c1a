"""Answers from a published lake without Spark: `faultline show` in a terminal, `faultline report` as a page."""
