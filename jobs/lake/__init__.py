"""The only room that reads and writes Delta with Spark."""
