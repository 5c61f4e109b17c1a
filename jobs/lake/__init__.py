"""The only package that reads and writes Delta with Spark."""
