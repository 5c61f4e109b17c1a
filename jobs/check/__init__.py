"""What the heads of the input files show of a run, in seconds and without Spark."""
