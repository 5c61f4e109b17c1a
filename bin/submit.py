"""Launcher for `spark-submit`; bin/spark-submit-cluster.sh has the whole line.

It is outside `jobs/`, as Spark puts the launcher's folder on `sys.path`.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the program itself cannot be imported by an older one
    sys.exit(
        "faultline: Python %d.%d at %s does not fit; set one of 3.11, 3.12, 3.13 in PYSPARK_DRIVER_PYTHON and"  # noqa: UP031 - may be Python 2
        " PYSPARK_PYTHON" % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

from jobs.cli.main import process

process()
