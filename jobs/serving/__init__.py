"""The tables as SQL: views, functions and a catalog's entries."""
