"""Faultline's jobs.

The map of the house, in the direction of its imports:

- `errors`, `day`, `settings` (read by `typed_table`), `profiles`: what everything may rest on
- `environment`, `jars`, `session`: the machine
- `tables/`: one module per published table
- `sources/`: raw files to typed rows and reasons
- `fault_latency/`: the flow; `fault_latency.job` is its contents page
- `lake`: the only module that reads or writes Delta with Spark
- `ingest`, `nightly`: a run; `summary`, `fail_on`, `plan`: what it says
- `answers/`: what is published, without Spark: in the terminal and as a page
- `serving/`: views, SQL functions, `register` and `serve`
- `cli`: the command line

Rules as Column expressions live in `udfs`, which knows none of this.
"""
