"""Compiled loops give the same bits in the process that compiles them and in processes that find them in the cache."""

import os
import subprocess
import sys
from pathlib import Path


def test_the_first_process_after_an_installation_gives_the_bits_of_all_others(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "tests.unit.models.kernel_bits"]
    first, again = (subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
                    for _ in range(2))
    assert list(tmp_path.rglob("*.nbc")), "nothing was compiled into the cache"
    assert first == again
