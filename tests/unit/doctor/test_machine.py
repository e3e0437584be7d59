"""All checks together: wrong settings are named, a check that fails is a finding, and errors give exit code 1."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.doctor import machine
from hone.doctor.deployment import Deployment
from hone.doctor.findings import Finding, ok, warning


def broken(_: Deployment) -> Iterator[Finding]:
    yield ok("first", "is well")
    raise RuntimeError("no such bus")


def shown(deployment: Deployment) -> Iterator[Finding]:
    yield warning("settings seen", " ".join(sorted(deployment.environment)), "nothing")


def test_a_check_that_fails_is_a_finding_and_the_next_goes_on(tmp_path: Path) -> None:
    found = list(machine.look(tmp_path, {}, [broken, shown]))
    assert [(one.check, one.level) for one in found] == [
        ("first", "ok"), ("broken", "error"), ("settings seen", "warning")]
    assert found[1].found == "cannot be checked: RuntimeError: no such bus"


def test_every_wrong_setting_is_named_and_the_others_count(tmp_path: Path) -> None:
    environment = {"HONE_NOPE": "1", "HONE_LEASE_S": "soon", "HONE_ENGINE_THREADS": "2", "PATH": "/bin"}
    *wrong, last = machine.look(tmp_path, environment, [shown])
    assert {one.found.partition(":")[0] for one in wrong} == {"HONE_NOPE", "HONE_LEASE_S"}
    assert last.found == "HONE_ENGINE_THREADS PATH"


@pytest.mark.parametrize(("checks", "code"), [([broken], 1), ([shown], 0)])
def test_the_command_ends_with_1_on_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, checks: list[machine.Check], code: int,
) -> None:
    monkeypatch.setattr(machine, "look", lambda state: iter(
        [one for check in checks for one in machine._findings(check, machine._deployment(state, {})[0])]))
    monkeypatch.setenv("HONE_STATE", str(tmp_path))
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == code, result.output
    assert [json.loads(line)["check"] for line in result.output.splitlines()]
    text = CliRunner().invoke(app, ["doctor"])
    assert "mend: " in text.output
