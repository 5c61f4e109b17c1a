#!/bin/sh
# Faultline on a cluster. Everything after the script's name goes to faultline:
#
#   MASTER=yarn bin/spark-submit-cluster.sh nightly --date 2026-11-21 --settings /etc/faultline/site.toml
#
# Before it, once: `make package` (dist/faultline-<version>.zip: a .whl would be importable on the driver only).
# The settings file is read by the driver, so the deploy mode is client. The site's own Spark settings go into
# spark-defaults.conf: --properties-file would replace that file whole.
#
#   SPARK_SUBMIT   the spark-submit of a Spark 4.2.0 (default: the one on PATH)
#   MASTER         default yarn
#   DELTA_JARS     comma-separated; default: the two locked jars, fetched once
#   PYSPARK_DRIVER_PYTHON   default: the checkout's own, which has delta-spark and click
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
jars=${DELTA_JARS:-$(cd "$home" && .venv/bin/python -m jobs.spark.delta_jars)}

export PYSPARK_DRIVER_PYTHON="${PYSPARK_DRIVER_PYTHON:-$home/.venv/bin/python}"
exec "${SPARK_SUBMIT:-spark-submit}" \
  --master "${MASTER:-yarn}" \
  --deploy-mode client \
  --name faultline \
  --py-files "$archive" \
  --jars "$jars" \
  "$home/bin/submit.py" "$@"
