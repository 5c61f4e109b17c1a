"""The tables in SQL: views, functions and catalog entries."""
