"""Verify: compares clients' own lines about fault items with the replay from sends; `job.py` is its contents page."""
