"""The wheel: it holds every file of the packages, and the command works from it, outside of the repository."""

import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = (ROOT / "libs", ROOT / "services")
OPENED = """
from importlib.resources import files
import hone, services, services.gateway.app, services.console.app
from hone.store import schema
assert str(schema.migration(schema.VERSION)).startswith("-- ") and len(schema.names()) > 50
print(hone.__file__, services.__file__, schema.VERSION, sep="\\n")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([ROOT / "scripts" / "wheel.sh", sys.executable, folder], check=True, timeout=300)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory in which the wheel is installed without its dependencies, which this environment has."""
    target = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-compile")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(wheel)]
    subprocess.run(command, check=True, timeout=300)
    return target


def run(installed: Path, *command: str | Path) -> str:
    """Run a command from the installed files, in a directory without the repository, and return its output."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "HOME": str(installed.parent), "TERM": "dumb"}
    ended = subprocess.run(command, cwd=installed.parent, env=environment, capture_output=True, text=True, timeout=300,
                           check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_it_holds_every_file_of_the_packages(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    ours = {path.relative_to(package if package.name == "libs" else ROOT).as_posix()
            for package in PACKAGES for path in package.rglob("*")
            if path.is_file() and not {"__pycache__"} & set(path.parts) and not path.parent.name.endswith(".egg-info")}
    assert ours - held == set()
    metadata = {name.partition("/")[2] for name in held - ours if ".dist-info/" in name}
    assert held - ours == {name for name in held if ".dist-info/" in name}, "and nothing else"
    assert {"METADATA", "entry_points.txt"} <= metadata
    assert f"-{version('hone-rl')}-py3-none-any.whl" in wheel.name


def test_its_modules_migrations_and_pages_are_found(installed: Path) -> None:
    hone, services, _ = run(installed, sys.executable, "-c", OPENED).splitlines()
    assert Path(hone).is_relative_to(installed)
    assert Path(services).is_relative_to(installed)


def test_the_command_lists_its_commands_and_validates_a_spec(installed: Path) -> None:
    command = installed / "bin" / "hone"
    assert "validate" in run(installed, sys.executable, command, "--help")
    spec = installed.parent / "curriculum.yaml"
    spec.write_bytes((ROOT / "examples" / "curriculum.yaml").read_bytes())
    assert "valid" in run(installed, sys.executable, command, "validate", spec)
