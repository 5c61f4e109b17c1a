"""Collect: what brokers know of consumers, asked every few seconds and written as snapshots."""
