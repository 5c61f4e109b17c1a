"""`faultline doctor`: checks, in seconds and without Spark, that this machine and lake are fit for a run."""
