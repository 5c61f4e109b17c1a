"""Answers from a published lake without Spark: the night that a run prints, `faultline show`, `faultline report`."""
