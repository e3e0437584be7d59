"""Large files are never in memory as a whole: a process's peak memory grows by less than a file's length."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

FILE_MB, ALLOWED_MB = 160, 48

_CHILD = """
import resource, sys
from pathlib import Path
from hone.store import objects
from hone.store.objects import contract
from hone.store.manifests import put_file

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

url, how, path = sys.argv[1], sys.argv[2], Path(sys.argv[3])
store = objects.connect(url)
store.put("warm", b"1" * 2**20)
list(store.read("warm"))
before = peak_mb()
if how == "get":
    assert sum(map(len, store.read("large"))) == path.stat().st_size
elif how == "pieces":
    store.put("pieces", contract.pieces(path))
else:
    assert put_file(store, "large", path)["bytes"] == path.stat().st_size
print(peak_mb() - before)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "weights"
    with path.open("wb") as file:
        for _ in range(FILE_MB):
            file.write(os.urandom(2**20))
    return path


@pytest.mark.parametrize("kind", ["directory", "bucket"])
def test_files_are_stored_and_read_in_pieces(
    kind: str, large: Path, tmp_path: Path, request: pytest.FixtureRequest,
) -> None:
    url = f"file://{tmp_path}" if kind == "directory" else request.getfixturevalue("s3").url(
        f"large-{secrets.token_hex(4)}")
    for how in ("file", "get", "pieces"):
        done = subprocess.run([sys.executable, "-c", _CHILD, url, how, str(large)], capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) < ALLOWED_MB, how
