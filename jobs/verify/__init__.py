"""Verify: what clients wrote of their fault items against the replay from sends; `job.py` is its contents page."""
