"""The packages `verifiers` and `openenv-core`, really installed, in environments of their own under .cache/verifiers.

They contradict the test environment (openai below 3), and lie on top of it: what both can use is there once. An
environment is made by the first test that needs it (about half a minute), and again when its pins change.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hone.stack import ports
from tests.servers.children import Children

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".cache" / "verifiers"
MODULES = ROOT / "tests" / "integration" / "verifiers" / "modules"
COMMAND, KEY = "from hone.cli.main import app; app()", "the key of the verify server"


@dataclass(frozen=True)
class Line:
    """Versions that are tested together."""

    packages: Sequence[str]
    alone: Sequence[str] = ()  # without what they depend on: OpenEnv's user interface is not needed, and large
    below: str = ""  # the line that it lies on top of


LINES: Mapping[str, Line] = {
    "current": Line(("verifiers==0.4.0", "fastmcp>=3,<5"), ("openenv-core==0.3.0",)),
    "classic": Line(("verifiers==0.3.1",), below="current")}


class NotInstalled(Exception):
    """pip could not install the packages. The message is the end of what it said."""


def serve(children: Children, name: str, *options: str, **more: str) -> str:
    """Start `hone verifier serve` in a line of packages, as the child "verifier…". Returns its address.

    `more` are variables of the process. Raises NotInstalled.
    """
    [port], child = ports.pick(1), f"verifier{len(list(children.directory.glob('verifier*')))}"
    command = [python(name), "-c", COMMAND, "verifier", "serve", *options, "--port", str(port)]
    children.start(child, command, env={**variables(), "HONE_VERIFIER_KEY": KEY, **more})
    children.wait(child, lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=180)
    return f"http://127.0.0.1:{port}"


def variables() -> dict[str, str]:
    """Return the variables of a process that imports the modules of the tests."""
    return {**os.environ, "PYTHONPATH": str(MODULES), "OMP_NUM_THREADS": "1"}


def python(name: str) -> str:
    """Return the interpreter of a line, which is installed if it is not yet. Raises NotInstalled."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _made(name)


def _made(name: str) -> str:
    line, home = LINES[name], HOME / name
    below = [str(_packages(Path(_made(line.below)).parents[1]))] if line.below else []
    interpreter, mark = str(home / "bin" / "python"), home / "installed.json"
    wanted = json.dumps([*line.packages, *line.alone, *below, sys.version])
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    # written each time: two clones may share the folder
    (_packages(home) / "below.pth").write_text("\n".join([str(ROOT / "libs"), str(ROOT), *below, *_own()]) + "\n")
    if not mark.exists():
        _install(interpreter, line.packages)
        _install(interpreter, line.alone, "--no-deps")
        mark.write_text(wanted)
    return interpreter


def _packages(home: Path) -> Path:
    return next((home / "lib").glob("python3*")) / "site-packages"


def _own() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


def _install(interpreter: str, packages: Sequence[str], *options: str) -> None:
    if packages:
        made = subprocess.run(
            [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, *packages],
            capture_output=True, text=True, check=False)
        if made.returncode:
            raise NotInstalled(f"pip could not install {', '.join(packages)}: {made.stderr[-1000:]}")
