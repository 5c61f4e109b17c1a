"""Launcher for `spark-submit`; bin/spark-submit-cluster.sh has the whole line.

It stands outside `jobs/`: Spark puts the launcher's own folder on `sys.path`.
"""

from jobs.cli import main

raise SystemExit(main())
