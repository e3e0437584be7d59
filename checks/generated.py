"""Checks that libs/hone/api is what proto/ generates now: nobody edited it, nobody forgot `make proto`."""

import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
API = ROOT / "libs" / "hone" / "api"


def generate(directory: Path) -> None:
    """Write freshly generated code to `directory`. Raises CalledProcessError."""
    subprocess.run(
        [ROOT / "proto" / "generate.sh", directory], check=True, env={**os.environ, "PYTHON": sys.executable})


def differences(fresh: Path, kept: Path = API) -> list[str]:
    """Return the names of files that are missing, superfluous or different."""
    names = {path.name for place in (fresh, kept) for path in place.glob("*_pb2*")}
    return sorted(name for name in names if not _same(fresh / name, kept / name))


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and filecmp.cmp(one, other, shallow=False)


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        generate(Path(directory))
        stale = differences(Path(directory))
    for name in stale:
        print(f"libs/hone/api/{name} is not what proto/ generates (make proto)", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
