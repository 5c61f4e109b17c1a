"""Intervals of time, `start_ms` to `end_ms` (exclusive): merged, cut, counted and joined."""
