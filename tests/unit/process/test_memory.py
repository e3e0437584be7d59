"""A process that exceeds its memory says so and ends; the setting names kinds of processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hone.process.memory import EXIT_STATUS, container_mb, limit, used_mb
from hone.spec import memory
from hone.spec.settings import read

PROGRAM = """
import time
from hone.process.memory import MemoryLimit
from hone.telemetry import logs
logs.configure()
limit = MemoryLimit("rollout", 96, "HONE_MEMORY_MB")
limit.before_end = lambda end: print("worked on 7:", end.kind, end.why, flush=True)
limit.watch()
held = b"x" * 2**27
time.sleep(60)
"""


def test_a_process_beyond_its_limit_records_its_work_logs_and_ends() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == EXIT_STATUS
    assert ended.stdout.startswith("worked on 7: rollout its memory was ")
    line = json.loads(ended.stderr.splitlines()[-1])
    assert line["message"].startswith("this process ends and is started again: its memory was ")
    assert line["message"].endswith(" MiB, expected at most 96 (HONE_MEMORY_MB)")


def test_this_process_has_some_memory() -> None:
    assert 10 < used_mb() < 2**20


@pytest.mark.parametrize(("text", "found"), [("536870912\n", 512), ("max\n", None), (f"{2**63 - 4096}\n", None)])
def test_the_limit_of_a_container_is_that_of_its_control_group(tmp_path: Path, text: str, found: int | None) -> None:
    (tmp_path / "memory.max").write_text(text)
    assert container_mb([tmp_path / "missing", tmp_path / "memory.max"]) == found


def test_without_a_setting_a_process_ends_before_the_kernel_kills_it_in_its_container() -> None:
    chosen, contained = limit("reward", 64, 512), limit("reward", None, 512)
    assert chosen is not None
    assert contained is not None
    assert (chosen._most_mb, chosen._source) == (64, "HONE_MEMORY_MB")
    assert (contained._most_mb, contained._source) == (460, "90% of its container's 512 MiB")
    assert limit("reward", None, None) is None


def test_a_kind_has_its_own_limit_or_that_of_all() -> None:
    text = "4096,rollout=2048, gateway=1024"
    assert [memory.limit(text, kind) for kind in ("rollout", "gateway", "trainer")] == [2048, 1024, 4096]
    assert memory.limit("rollout=2048", "trainer") is None
    assert memory.limit("", "trainer") is None


@pytest.mark.parametrize("text", ["1", "many", "rollout=", "rollout=512,rollout=512", "9,9", "-512", "rollout=9MB"])
def test_a_limit_that_cannot_be_meant_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="HONE_MEMORY_MB"):
        read({"HONE_MEMORY_MB": text})
