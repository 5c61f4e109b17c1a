"""What the first lines of the input files say about a run, in seconds and without Spark."""
