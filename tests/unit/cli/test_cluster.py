"""`hone plan cluster`: a table that names its sources, and values that the chart takes."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from hone.cli.main import app
from hone.sizing import costs
from tests.unit.k8s import charts


def planned(*options: str) -> Result:
    return CliRunner().invoke(app, ["plan", "cluster", *options])


@pytest.mark.parametrize("gpus", ["1", "8", "64"])
def test_the_table_has_every_part_and_names_every_source(gpus: str) -> None:
    done = planned("--gpus", gpus)
    assert done.exit_code == 0
    parts = {line.partition("  ")[0].strip() for line in done.stdout.splitlines()}
    assert {"engines", "trainer", "rollout", "reward", "postgres", "postgres rows", "bucket, written"} <= parts
    for source in (costs.OVERHEAD, costs.FOOTPRINT, costs.INGEST):
        assert str(source) in done.stdout
    assert done.stdout.count("\nextrapolated  ") == 2
    assert done.stdout.count("\nassumed  ") == 2


def test_rates_that_are_given_are_not_assumed() -> None:
    done = planned("--gpus", "8", "--generate-rate", "2000", "--train-rate", "900")
    assert "assumed" not in done.stdout
    assert "2000 tokens/s a GPU" in done.stdout


@pytest.mark.parametrize("gpus", [1, 8, 64])
def test_the_chart_takes_the_values(gpus: int, tmp_path: Path, need: Callable[[str | None], None]) -> None:
    need(charts.absent())
    file = tmp_path / "sizes.yaml"
    file.write_text(planned("--gpus", str(gpus), "--parameters", "1", "--values").stdout)
    values = yaml.safe_load(file.read_text())
    rendered = charts.render(["-f", str(file)])
    asked = {name: container["resources"]["limits"].get("nvidia.com/gpu", 0)
             for name, container in rendered.containers()}
    assert asked["inference"] == values["inference"]["gpus"]
    assert asked["trainer"] == values["trainer"]["gpus"]
    given = values["inference"]["replicas"] * asked["inference"] + values["trainer"]["nodes"] * asked["trainer"]
    assert given <= gpus or gpus == 1


def test_what_does_not_fit_is_refused_by_its_option() -> None:
    done = planned("--gpus", "2", "--parameters", "70")
    assert done.exit_code == 1
    assert "--gpus" in done.output
    assert "needs 28 GPUs or more" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gpus", "0"], "--gpus"),
        (["--gpus", "2", "--parameters", "0"], "--parameters: found 0.0"),
        (["--gpus", "2", "--parameters", "nan"], "--parameters: found nan"),
        (["--gpus", "2", "--gpu-memory", "inf"], "--gpu-memory: found inf"),
        (["--gpus", "2", "--train-rate", "nan"], "--train-rate"),
        (["--gpus", "2", "--gpu", "h1000"], "--gpu: found h1000, expected one of a100-40"),
        (["--gpus", "1000", "--parameters", "405"], "--parameters: found 405"),
        (["--gpus", "8", "--tokens", "0"], "--tokens"),
    ],
)
def test_an_impossible_option_is_refused_by_its_name(options: list[str], said: str) -> None:
    done = planned(*options)
    assert done.exit_code != 0
    assert said in " ".join(done.output.split())


def test_values_leave_room_for_the_model_and_its_answers() -> None:
    values = yaml.safe_load(planned("--gpus", "64", "--parameters", "14", "--tokens", "6000", "--values").stdout)
    assert values["settings"]["HONE_ENGINE_MAX_TOKENS"] == 16384
    for kind in ("inference", "trainer"):
        shm, memory = values[kind]["shm"], values[kind]["resources"]["limits"]["memory"]
        assert int(memory.removesuffix("Gi")) > int(shm.removesuffix("Gi")) > 14
