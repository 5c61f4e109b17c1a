"""`faultline doctor`: whether this machine and this lake are fit for a run, in seconds and without Spark."""
