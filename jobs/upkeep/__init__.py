"""Upkeep of a lake."""
