"""What other policies would have done with the same days of sends; `job.py` is its contents page."""
