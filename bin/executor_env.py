"""Packs what executors import into an archive for spark-submit: `python bin/executor_env.py [PYTHON]`.

A virtual environment (PEP 405) of the packages that conf/jars.toml names in `[executors]`, as requirements.lock pins
them. Nothing in it is tied to a place but the Python that it starts with: PYTHON, a path on the executors; by default
the path of this one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

_MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
_ARCHIVE = Path("dist/executor-env.tar.gz")
THIS_PYTHON = Path(sys.base_prefix, "bin", f"python{_MINOR}")


def pins(lock: str, names: Sequence[str]) -> str:
    """The lines of these packages in a lock.

    Raises:
        LookupError: one is not locked.
    """
    found = {line.partition("==")[0]: line for line in re.findall(r"^\S+==(?:.*\\\n)*.*\n", lock, re.MULTILINE)}
    return "".join(found[name] for name in names)


def pack(python: Path, requirements: str, archive: Path) -> None:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as folder:
        pinned, environment = Path(folder, "pinned.txt"), Path(folder, "environment")
        pinned.write_text(requirements, encoding="utf-8")
        target = environment / "lib" / f"python{_MINOR}" / "site-packages"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
        subprocess.run([*pip, "--require-hashes", "--target", str(target), "-r", str(pinned)], check=True)
        (environment / "bin").mkdir()
        (environment / "bin" / "python").symlink_to(python)
        says = f"home = {python.parent}\ninclude-system-site-packages = false\n"
        (environment / "pyvenv.cfg").write_text(says, encoding="utf-8")
        archive.parent.mkdir(exist_ok=True)
        with tarfile.open(archive, "w:gz", compresslevel=6) as packed:
            packed.add(environment, ".")


def main(arguments: Sequence[str]) -> int:
    """Pack it and print how to use it."""
    python = Path(*arguments) if arguments else THIS_PYTHON
    names = tomllib.loads(Path("conf/jars.toml").read_text(encoding="utf-8"))["executors"]["packages"]
    pack(python, pins(Path("requirements.lock").read_text(encoding="utf-8"), names), _ARCHIVE)
    sys.stdout.write(
        f"{_ARCHIVE}: {', '.join(names)} for the Python {_MINOR} at {python} of the executors. With it:\n\n"
        f"  export PYSPARK_DRIVER_PYTHON={sys.executable} PYSPARK_PYTHON=./environment/bin/python\n"
        f"  spark-submit --archives {_ARCHIVE.absolute()}#environment …\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
