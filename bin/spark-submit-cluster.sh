#!/bin/sh
# Faultline on a cluster. Everything after the script's name goes to faultline:
#
#   MASTER=yarn bin/spark-submit-cluster.sh nightly --date 2026-11-21 --settings /etc/faultline/site.toml
#
# Before it, once: `make package` (dist/faultline-<version>.zip: a .whl would be importable on the driver only).
# What the settings' [spark] says about the start of Spark (memory, jars, master, …) is passed to spark-submit; only what
# holds a secret goes into spark-defaults.conf. Under spark-submit the program's stderr comes out on stdout, so a
# scheduler takes the answer from --json-to FILE, a file or a URI.
#
#   SPARK_SUBMIT   the spark-submit of a Spark 4.2.0 (default: the one on PATH)
#   MASTER         default: spark.master of the settings, else yarn
#   MODE           deploy mode: client (default), or cluster, on YARN and Kubernetes. There the driver has the settings
#                  files in its own folder, by --files: run this where they lie, name them without a folder, write paths in
#                  them in full, and take the answer from --json-to URI; the exit code is that of spark-submit
#   DELTA_JARS     comma-separated; default: the two locked jars, fetched once
#   PYSPARK_DRIVER_PYTHON   default in client mode: the checkout's own, which has delta-spark and click
#   PYSPARK_PYTHON          the Python on the executors, of the same minor version; as Spark has it
set -eu

home=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
"$home/bin/setup"
export FAULTLINE_HOME="$home"

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$home/pyproject.toml")
archive=$home/dist/faultline-$version.zip
[ -f "$archive" ] || {
  echo "faultline: $archive is missing; run 'make package' first" >&2
  exit 2
}
newer=$(cd "$home" && find jobs udfs conf -name __pycache__ -prune -o -type f -newer "$archive" -print | head -n 1)
[ -z "$newer" ] || {
  echo "faultline: $archive is older than $newer; run 'make package' again" >&2
  exit 2
}
options=$(PYTHONPATH="$home" "$home/.venv/bin/python" -m jobs.spark.at_launch "$@")
eval "set -- $options \"\$home/bin/submit.py\" \"\$@\""

mode=${MODE:-client}
[ "$mode" = cluster ] || export PYSPARK_DRIVER_PYTHON="${PYSPARK_DRIVER_PYTHON:-$home/.venv/bin/python}"
exec "${SPARK_SUBMIT:-spark-submit}" \
  --conf spark.master=yarn \
  ${MASTER:+--master "$MASTER"} \
  --deploy-mode "$mode" \
  --name faultline \
  --py-files "$archive" \
  "$@"
