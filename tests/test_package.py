"""What is built is what is in the tree: the wheel, the .zip for Spark, the locks."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.spark.delta_jars import locked_jars

ROOT = Path(__file__).parents[1]
PACKAGES = ("jobs", "udfs", "conf")
SOURCES = {".py", ".toml", ".conf", ".sql", ".j2", ".css", ".js", ".json"}
OF_THE_CHECKOUT = {"FAULTLINE_HOME", "FAULTLINE_CACHE", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def sources() -> set[str]:
    """Every source file of the packages, as the tree has it."""
    return {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix in SOURCES
    }


def samples() -> set[str]:
    """Every file of the samples."""
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / "data_samples").rglob("*") if path.is_file()}


def built(checkout: Path, folder: Path) -> Path:
    """The checkout's wheel, built by the installed backend: no network."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout's own."""
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture
def archive(wheel: Path, tmp_path: Path) -> Path:
    """The same file under the name that Spark's executors can import."""
    return Path(shutil.copy(wheel, tmp_path / f"faultline-{PROJECT['version']}.zip"))


def run_with(archive: Path, code: str) -> str:
    """What a process says that has the archive and nothing of the checkout on its path."""
    path = f"import sys; sys.path[:] = [{str(archive)!r}, *(p for p in sys.path if p and p != {str(ROOT)!r})]"
    done = subprocess.run(
        [sys.executable, "-c", f"{path}\n{code}"],
        cwd=archive.parent,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_source_file_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    info = f"faultline-{PROJECT['version']}.dist-info/"
    held = {name for name in names if not name.startswith(info)}
    assert held == sources() | samples()
    assert f"{info}licenses/LICENSE" in names
    assert wheel.name == f"faultline-{PROJECT['version']}-py3-none-any.whl"


def test_another_copy_of_the_same_files_gives_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """Copied in another order, at another time, readable to others: what the image copies is enough to build from."""
    steps = (ROOT / "deploy/Dockerfile").read_text()
    names = [name for line in re.findall(r"^COPY (?!--)(.*) \S+$", steps, re.MULTILINE) for name in line.split()]
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in reversed(names):
        whole = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        whole(ROOT / name, copy / name)
    for path in copy.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert built(copy, tmp_path / "dist").read_bytes() == wheel.read_bytes()


def test_the_wheel_asks_for_the_pins_and_names_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as held:
        info = f"faultline-{PROJECT['version']}.dist-info"
        metadata = held.read(f"{info}/METADATA").decode()
        commands = held.read(f"{info}/entry_points.txt").decode()
    asked = re.findall(r"^Requires-Dist: ([^;\n]+)$", metadata, re.MULTILINE)
    assert sorted(asked) == sorted(PROJECT["dependencies"])
    assert "faultline = jobs.cli.main:process" in commands


def test_package_data_is_readable_from_the_zip_in_another_folder(archive: Path) -> None:
    names = (name for name in sources() if name.startswith("conf/"))
    data = {name.removeprefix("conf/"): (ROOT / name).read_text() for name in names}
    read = (
        f"from importlib.resources import files; print(*[files('conf').joinpath(n).read_text() for n in {sorted(data)}]"
    )
    assert run_with(archive, f"{read}, sep='')") == "".join(data[name] for name in sorted(data)) + "\n"


def test_the_lock_of_the_jars_is_read_from_the_zip(archive: Path) -> None:
    named = "*[jar.name for jar in delta_jars.locked_jars()]"
    said = run_with(archive, f"import jobs; from jobs.spark import delta_jars; print(jobs.__path__, {named})")
    assert str(archive) in said
    assert said.endswith(" delta-spark_4.2_2.13 delta-storage\n")


def test_every_module_can_be_imported_from_the_zip(archive: Path) -> None:
    names = sorted(name.removesuffix(".py").replace("/", ".") for name in sources() if name.endswith(".py"))
    load = f"import importlib\nfor name in {names}: importlib.import_module(name.removesuffix('.__init__'))"
    assert run_with(archive, f"{load}\nprint('all')") == "all\n"


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """What pip makes of the wheel, without its command."""
    folder = tmp_path / "site-packages"
    with zipfile.ZipFile(wheel) as held:
        held.extractall(folder)
    return folder


def said_by(command: list[str], here: Path, **variables: str) -> str:
    """What the program prints, started in the folder, with no variable that leads to the checkout but these."""
    here.mkdir(exist_ok=True)
    environ = {name: value for name, value in os.environ.items() if name not in OF_THE_CHECKOUT} | variables
    done = subprocess.run(command, cwd=here, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_program_has_its_version_and_its_samples(installed: Path, tmp_path: Path) -> None:
    program, here = [sys.executable, "-P", "-m", "jobs.cli"], tmp_path / "here"
    version = said_by([*program, "--version"], here, PYTHONPATH=f"{installed}")
    assert version == f"faultline {PROJECT['version']}\n"
    settings = ("--settings", f"{installed}/conf/local.toml", "--lake", "lake")
    plan = said_by([*program, "plan", "nightly", *settings], here, PYTHONPATH=f"{installed}")
    read = re.findall(r"^  read     (\w+): (.*) \((\d+) files, .*\)$", plan, re.MULTILINE)
    kinds = {"sends": 2, "routes": 2, "consumers": 1, "running_info": 1, "client_logs": 8}
    assert read == [(kind, f"{installed}/data_samples/{kind}", f"{files}") for kind, files in kinds.items()]


@pytest.fixture
def command(wheel: Path, tmp_path: Path) -> Iterator[Path]:
    """The command that pip makes in an environment with nothing but the wheel, its extra, and what these ask for."""
    here, environment = tmp_path / "pip", tmp_path / "environment"
    said_by([sys.executable, "-m", "venv", f"{environment}"], here)
    said_by([f"{environment}/bin/python", "-m", "pip", "install", "--quiet", f"{wheel}[report]"], here)
    yield environment / "bin/faultline"
    shutil.rmtree(environment)


@pytest.mark.slow
def test_an_installed_program_shows_its_demo(command: Path, tmp_path: Path) -> None:
    """Five minutes, and a gigabyte from the network: a real night in an empty folder, and what it says to call next."""
    here, jars = tmp_path / "here", tmp_path / "jars"

    def faultline(*arguments: str) -> str:
        return said_by([f"{command}", *arguments], here, FAULTLINE_CACHE=f"{jars}")

    said = faultline("demo")
    assert "15,832 lines read = 15,832 published" in said
    following = re.findall(r"^  faultline (.*)$", said.partition("\nNext:\n")[2], re.MULTILINE)
    assert len(following) == 3
    told = [faultline(*shlex.split(line)) for line in following]
    assert told[0].startswith("2026-11-21, cluster LabCluster\n  333 sends lost")
    assert {path.name for path in here.iterdir()} == {
        "faultline-demo",
        "faultline-2026-11-21.html",
        "faultline-demo.duckdb",
    }
    assert {path.name for path in jars.glob("*.jar")} == {jar.file_name for jar in locked_jars()}


def test_the_page_s_parts_are_read_from_the_zip(archive: Path) -> None:
    names = sorted(name.name for name in (ROOT / "jobs/answers/page").iterdir())
    read = f"from jobs.answers.closed_page import part; print([len(part(name)) for name in {names}])"
    lengths = [len((ROOT / "jobs/answers/page" / name).read_text()) for name in names]
    assert run_with(archive, read) == f"{lengths}\n"


def pins(lock: str) -> dict[str, list[str]]:
    """Package → its pins, with markers."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / lock).read_text().splitlines():
        if match := re.fullmatch(r"([a-z0-9.-]+)(==.+?) ?\\", line):
            found.setdefault(match[1], []).append(match[2].strip())
    return found


def versions(found: list[str]) -> set[str]:
    """Pins without their markers: what one lock asks for on every Python, the other may ask for on some."""
    return {pin.split(";")[0].strip() for pin in found}


@pytest.mark.fault(46)
def test_the_locks_follow_pyproject() -> None:
    run, dev = pins("requirements.lock"), pins("requirements-dev.lock")
    extras = PROJECT["optional-dependencies"]
    for lock, asked in [(run, PROJECT["dependencies"] + extras["build"] + extras["report"]), (dev, extras["dev"])]:
        for requirement in asked:
            name, equals, version = requirement.partition("==")
            if equals:
                assert lock.get(name) == [f"=={version}"], f"{requirement}: the lock is stale; run 'make lock'"
    differing = {name for name in run if versions(run[name]) - versions(dev.get(name, []))}
    assert not differing, "the two locks differ; run 'make lock'"


@pytest.mark.fault(46)
def test_every_locked_package_has_a_hash() -> None:
    for lock in ("requirements.lock", "requirements-dev.lock"):
        for block in re.split(r"\n(?=[a-z])", (ROOT / lock).read_text()):
            assert "--hash=sha256:" in block, f"{lock}: {block.splitlines()[0]}"


@pytest.mark.parametrize(
    "script", ["bin/setup", "bin/faultline", "bin/browser", "bin/spark-submit-cluster.sh", ".ci/run"]
)
def test_a_script_is_executable_and_parses(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    shell = path.read_text().splitlines()[0].rsplit("/", 1)[-1].split()[-1]
    subprocess.run([shell, "-n", path], check=True)


def test_an_archive_older_than_a_source_is_not_shipped(tmp_path: Path) -> None:
    """In a checkout of stand-ins; `echo` stands for spark-submit, a script for the Python that prints its options."""
    for folder in ("bin", "dist", *PACKAGES, "jobs/cli"):
        (tmp_path / folder).mkdir()
    script = shutil.copy(ROOT / "bin/spark-submit-cluster.sh", tmp_path / "bin")
    (tmp_path / "bin/setup").symlink_to(shutil.which("true") or "/bin/true")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    python = tmp_path / ".venv/bin/python"
    python.write_text("#!/bin/sh\necho --jars delta.jar \"'a  b'\"\n")
    python.chmod(0o755)
    (tmp_path / "pyproject.toml").write_text('version = "1.2"\n')
    source, archive = tmp_path / "jobs/cli/main.py", tmp_path / "dist/faultline-1.2.zip"
    environ = {"PATH": "/usr/bin:/bin", "SPARK_SUBMIT": "echo"}

    def submitted() -> tuple[int, str, str]:
        done = subprocess.run([script, "nightly"], env=environ, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    source.touch()
    assert submitted() == (2, "", f"faultline: {archive} is missing; run 'make package' first\n")
    archive.touch()
    os.utime(source, ns=(0, archive.stat().st_mtime_ns - 1_000_000_000))
    (tmp_path / "jobs/__pycache__").mkdir()
    compiled = tmp_path / "jobs/__pycache__/cli.pyc"
    compiled.touch()
    os.utime(compiled, ns=(0, archive.stat().st_mtime_ns + 1_000_000_000))
    code, said, _ = submitted()
    assert (code, f"--py-files {archive} --jars delta.jar a  b {tmp_path}/bin/submit.py nightly" in said) == (0, True)
    os.utime(source, ns=(0, archive.stat().st_mtime_ns + 1_000_000_000))
    assert submitted() == (2, "", f"faultline: {archive} is older than jobs/cli/main.py; run 'make package' again\n")
