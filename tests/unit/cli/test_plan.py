"""`hone plan` without a server."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hone.cli.main import app

TAILS = {10_000: 2_000.0, 100_000: 13_000.0, 1_000_000: 80_000.0}
OPTIONS = ("--budget", "5000000", "--small", "16", "--large", "64")


def pilots(**changes: object) -> list[dict[str, object]]:
    runs: list[dict[str, object]] = [
        {"budget": budget, "fraction": fraction, "loss": math.log(budget * (1 - fraction) / tail) ** 2}
        for budget, tail in TAILS.items() for fraction in (0.6, 0.75, 0.85, 0.95, 0.97)]
    runs[2].update(changes)
    return runs


def planned(tmp_path: Path, content: object, *options: str) -> Result:
    file = tmp_path / "pilots.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return CliRunner().invoke(app, ["plan", "batch-size", str(file), *(options or OPTIONS)])


def test_the_switch_its_band_and_the_stages_are_printed(tmp_path: Path) -> None:
    done = planned(tmp_path, pilots())
    assert done.exit_code == 0
    switch, gamma, first, second = done.stdout.splitlines()
    assert switch.startswith("switch  4706946 (94.1")
    assert "% of 5000000 rows), band 46" in switch
    assert gamma == "gamma   0.8010"
    until = first.removeprefix("stage   rows 0 to ").removesuffix(": batches of 16")
    assert second == f"stage   rows {until} to 5000000: batches of 64"


def test_a_program_gets_the_same_as_json(tmp_path: Path) -> None:
    plan = json.loads(planned(tmp_path, pilots(), *OPTIONS, "--json").stdout)
    assert plan["low"] < plan["switch"] < plan["high"]
    assert plan["stages"] == [{"until": round(plan["switch"]), "rows": 16}, {"until": 5_000_000, "rows": 64}]
    assert plan["flags"] == []


def test_flags_are_printed(tmp_path: Path) -> None:
    best_at_the_edge = [run for run in pilots() if run["budget"] != 100_000 or run["fraction"] not in (0.95, 0.97)]
    flagged = planned(tmp_path, best_at_the_edge)
    assert flagged.exit_code == 0
    assert "flag    budget 100000: the best fraction, 0.85, is at the edge of its grid" in flagged.stdout


@pytest.mark.parametrize(("content", "message"), [
    (pilots(fraction=1.2), "pilots[2].fraction: found 1.2, expected less than 1"),
    (pilots(loss="low"), 'pilots[2].loss: found "low", expected a valid number'),
    (pilots(frac=0.5), "pilots[2].frac: found unknown key with value 0.5, expected one of budget, fraction, loss"),
    ([{"budget": 1000, "fraction": 0.5}], "pilots[0].loss: found nothing, expected a value"),
    ({"budget": 1000}, 'pilots: found {"budget": 1000}, expected a valid list'),
    ([], "pilots: found budgets [], expected at least 3 different ones"),
    (pilots()[:4], "pilots: found budgets [10000], expected at least 3 different ones"),
    ("[1,", "expected JSON: a list of {budget, fraction, loss}"),
])
def test_bad_pilots_are_named(tmp_path: Path, content: object, message: str) -> None:
    refused = planned(tmp_path, content)
    assert refused.exit_code == 1
    assert message in refused.stderr


@pytest.mark.parametrize(("options", "message"), [
    (("--budget", "40000000", "--small", "16", "--large", "64"),
     "budget: found 40000000, expected 334 to 30000000 rows: at most 30 times beyond the pilots"),
    (("--budget", "5000000", "--small", "16", "--large", "16"), "--large: found 16, expected more than --small (16)"),
    (("--budget", "5000000", "--small", "0", "--large", "16"), "--small: found 0, expected at least 1"),
    (("--budget", "-1", "--small", "8", "--large", "16"), "--budget: found -1, expected at least 1"),
])
def test_bad_options_are_named(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    refused = planned(tmp_path, pilots(), *options)
    assert refused.exit_code == 1
    assert message in refused.stderr


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["plan", "batch-size", str(tmp_path / "absent.json"), *OPTIONS])
    assert refused.exit_code == 1
    assert "absent.json: found No such file or directory, expected a file that can be read" in refused.stderr
