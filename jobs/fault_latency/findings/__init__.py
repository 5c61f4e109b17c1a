"""Findings on producers: one file per kind."""
