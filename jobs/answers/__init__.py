"""Answers from a published lake without Spark: the night that a run prints, `faultline show`, `faultline report`.

Arrow looks for pandas' types from its first scalar on, and imports pandas for that: a third of a second for nothing, as
no answer has any. So it finds none; whoever asks Arrow for a pandas object later still gets it.
"""

import sys
from importlib.abc import MetaPathFinder


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> None:  # noqa: ARG002 - Python's own
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


sys.meta_path.insert(0, _finder := _WithoutPandas())
import pyarrow.dataset  # noqa: E402, F401 - makes Arrow look for it now

sys.meta_path.remove(_finder)
