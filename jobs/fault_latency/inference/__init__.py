"""Writes that no line of a log shows."""
