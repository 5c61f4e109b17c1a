"""What a failure of Spark is told as; the texts are Spark 4.2's."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from jobs.spark.failures import failure, root_cause

LACKS = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 3602, in main
    func, profiler, deserializer, serializer = read_udfs(
                                               ^^^^^^^^^^
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 2530, in read_udfs
    import pyarrow as pa
ModuleNotFoundError: No module named 'pyarrow'"""

OTHER_VERSION = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker_util.py", line 86, in check_python_version
    raise PySparkRuntimeError(
pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: \
3.12 than that in driver: 3.11, PySpark cannot run with different minor versions.
Please check environment variables PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON are correctly set."""

DOES_NOT_START = """Job aborted due to stage failure: Lost task 1.3 in stage 0.0 (TID 6) (127.0.0.1 executor 0):
Error from python worker:
  Traceback (most recent call last):
    File "/usr/lib/python3.6/runpy.py", line 183, in _run_module_as_main
      mod_name, mod_spec, code = _get_module_details(mod_name, _Error)
  ModuleNotFoundError: No module named 'importlib.resources'
PYTHONPATH was:
  /opt/spark/python/lib/pyspark.zip"""

TWO = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "a.py", line 1, in walk
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 2, in walk
ValueError: no a
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:665)"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (LACKS, "ModuleNotFoundError: No module named 'pyarrow'"),
        (OTHER_VERSION, OTHER_VERSION.splitlines()[4]),
        (DOES_NOT_START, "ModuleNotFoundError: No module named 'importlib.resources'"),
        (TWO, "ValueError: no a"),
        ("\nthe first line\nanother", "the first line"),
        ("Traceback (most recent call last):\n  cut off", "Traceback (most recent call last):"),
        ("", "PySparkException"),
    ],
)
def test_the_cause_of_a_python_worker_s_failure_is_its_exception(text: str, cause: str) -> None:
    assert root_cause(PySparkException(text)) == cause


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LACKS, "Python workers lack a package; set PYSPARK_PYTHON to a Python that has it; "),
        (OTHER_VERSION, "Python workers are of another version than the driver; set PYSPARK_PYTHON to the same; "),
        (TWO, "a Python worker failed; run it again with -v and report it; other days stay whole (ValueError: no a)"),
    ],
)
def test_a_python_worker_s_failure_has_a_fix(text: str, told: str) -> None:
    assert str(failure(PySparkException(text), "lake")).startswith(told)
