"""Faultline's jobs; ARCHITECTURE.md has the map, one send on its way through it, and what to touch for which change.

Imports go downwards only:

- `cli`: a file per command
- `what_if`, `upkeep`: published days under other policies; maintenance
- `fault_latency`, `allocation`: the two flows, then `runs`, one run of a flow
- `serving`, `answers`, `doctor`: SQL; `show` and `report` without Spark; checks of machine and lake
- `sources`: raw files to typed, validated, staged lines
- `lake`: the only package that reads or writes Delta with Spark
- `spark`, `settings`: the session and its jars; TOML to frozen dataclasses
- `tables`, `text`, `errors`, `uri`, and `udfs`, which holds the rules of RocketMQ and imports none of these
"""
