"""The desk's command: rows of the benchmark, and what gates and validator say of its tasks."""

import json

import pytest

from hone.environments.desk import __main__ as command
from hone.environments.desk import benchmark
from hone.environments.tasks import episode, make


def test_rows_are_tasks_of_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["rows"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == benchmark.rows()
    assert episode(make("desk", {}, 0, rows[5])).reset().messages[0]["content"] == rows[5]["prompt"]


def test_a_task_that_is_refused_ends_the_command_with_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "SEEDS", [900_001])
    assert command.main(["gates"]) == 0
    assert f"7 of 7 accepted; benchmark {benchmark.HASH[:12]}" in capsys.readouterr().out
    monkeypatch.setattr("hone.environments.desk.gates.FEWEST_NEAR_MISSES", 9)
    assert command.main(["gates"]) == 1
    assert "merge 900001 refused near misses: found 4 near misses, expected at least 9" in capsys.readouterr().out
