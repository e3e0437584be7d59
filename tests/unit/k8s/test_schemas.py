"""Helm accepts the chart, and every manifest fits the schemas of the Kubernetes API."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.k8s.schemas import NEWEST, OLDEST, plain, validated, write
from tests.unit.k8s import charts
from tests.unit.k8s.charts import CHART, SETS, Rendered


@pytest.mark.parametrize("name", SETS)
def test_helm_finds_no_fault(name: str, need: Callable[[str | None], None]) -> None:
    need(charts.absent())
    ended = charts.helm("lint", "--strict", str(CHART), *SETS[name])
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(("version", "names"), [(OLDEST, ["all"]), (NEWEST, list(SETS))])
def test_every_manifest_fits_its_schema(
    version: str, names: list[str], render_of: Callable[[str], Rendered], tmp_path: Path
) -> None:
    texts = {text for name in names for text in plain(render_of(name))}  # each once: many are in every set
    ended = validated(version, write(texts, tmp_path / "rendered.yaml"))
    assert ended.returncode == 0, ended.stdout
    assert "Couldn't find schema" not in ended.stdout + ended.stderr
    assert ended.stdout.count("passed") == len(texts)


def test_the_validation_sees_a_wrong_field(render_of: Callable[[str], Rendered], tmp_path: Path) -> None:
    [*_, text] = (text for text in plain(render_of("default")) if "terminationGracePeriodSeconds" in text)
    wrong = text.replace("terminationGracePeriodSeconds", "terminationGraceSeconds")
    assert validated(NEWEST, write([wrong], tmp_path / "wrong.yaml")).returncode == 1


@pytest.mark.parametrize(("option", "said"), [
    ("gateway.replica=3", "'/gateway': additional properties 'replica' not allowed"),
    ("trainer.ranks=none", "'/trainer/ranks': got string, want integer"),
    ("inference.engine=tgi", "'/inference/engine': value must be one of 'native', 'vllm'"),
    ("rollout.tmp=2GB", "'/rollout/tmp'"),
])
def test_a_wrong_value_is_refused_by_its_name(option: str, said: str, need: Callable[[str | None], None]) -> None:
    need(charts.absent())
    ended = charts.helm("template", "hone", str(CHART), "--set", option)
    assert ended.returncode == 1
    assert said in ended.stderr
