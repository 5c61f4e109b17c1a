"""What-if: the same days of sends under other policies; `job.py` is its contents page."""
