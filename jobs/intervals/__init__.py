"""Intervals of time, `start_ms` to `end_ms` (exclusive): brought together, cut, counted and joined."""
