"""The suite can fail: without a fence or a conflict clause of one statement, `test_fences` is red."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("alone")

ROOT = Path(__file__).parents[2]
QUERIES = "libs/hone/store/queries"

MUTATIONS = {
    "epoch of the driver's fence": (
        "runs.sql",
        """
WHERE id = %(id)s AND lease_epoch = %(epoch)s AND state IN ('running', 'paused') FOR NO KEY UPDATE""",
        """
WHERE id = %(id)s AND state IN ('running', 'paused') FOR NO KEY UPDATE""",
        "test_a_driver_that_wakes_up_late_plans_nothing[embedded]"),
    "conflict clause of the journal": (
        "journal.sql",
        """
    ON CONFLICT (group_id, index, call) DO NOTHING)""", ")",
        "test_calls_are_journaled_once_however_often_a_worker_repeats_itself[embedded]"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_without_it_the_suite_is_red(name: str, tmp_path: Path) -> None:
    file, before, after, expected = MUTATIONS[name]
    os.chmod(tmp_path, 0o711)
    for part in ("libs", "services", "tests", "pyproject.toml"):
        source = ROOT / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / part)
    statements = tmp_path / QUERIES / file
    text = statements.read_text()
    assert text.count(before) == 1, "the statement is written differently now: mutate it anew"
    statements.write_text(text.replace(before, after))
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/acceptance/test_fences.py::{expected}",
         f"--basetemp={tmp_path / 'temp'}"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{tmp_path / 'libs'}:{tmp_path}"}, capture_output=True,
        text=True, timeout=300, check=False)
    assert ended.returncode == 1, ended.stdout[-3000:] + ended.stderr[-1000:]
    assert f"FAILED tests/acceptance/test_fences.py::{expected}" in ended.stdout
