"""Figures of scale: the program as a whole, its allocation stage alone, and a plain loop over the real Java classes."""
