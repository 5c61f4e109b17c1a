"""The tables as SQL: views, functions, a catalog's entries, and a server for clients that speak JDBC."""
