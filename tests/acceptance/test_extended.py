"""Packages of other authors: the four of examples/extend, installed beside Hone, in each process of a stack."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hone.client import Client
from hone.client.resources import Run
from tests.acceptance import toy
from tests.acceptance.scene import Scene, open_scene, wait_for

EXAMPLES = Path(__file__).parents[2] / "examples" / "extend"
KINDS = ("environment", "grader", "harness", "method")
STEPS = 3
NAMED: dict[str, Any] = {
    "task": {"environment": "mirror", "params": {"digits": 3}}, "grader": {"type": "near"},
    "harness": {"name": "second_thought", "params": {"ask_again": "="}},
    "algorithm": {"preset": "grpo", "advantage": {"name": "median"}},
    "batch": {"prompts": 4, "samples": 4}, "eval": None}
"""Fields of a spec with a member of each package."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the packages as a user does, and return their directory."""
    folder = tmp_path_factory.mktemp("extend")
    shutil.copytree(EXAMPLES, folder / "sources")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*install, "--target", folder / "site", *(folder / "sources" / kind for kind in KINDS)], check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def extended(installed: Path, alone: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:  # noqa: ARG001
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")])))
        scene = open_scene(tmp_path_factory.mktemp("extended") / "state", {"sweep_s": 0.2}, {})
        yield scene
        scene.stack.stop()


def command(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the packages installed."""
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    return subprocess.run([sys.executable, *words], env={**os.environ, "PYTHONPATH": path}, capture_output=True,
                          text=True, check=False)


def hone(installed: Path, *commands: str) -> str:
    """Return what commands print, each a line of words, in one process with the packages."""
    program = ("import sys; from hone.cli.main import app; "
               "[app(line.split(), standalone_mode=False) for line in sys.argv[1:]]")
    ended = command(installed, "-c", program, *commands)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_each_package_passes_its_own_tests(installed: Path) -> None:
    ended = command(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir",
                    str(EXAMPLES), *(str(EXAMPLES / kind) for kind in KINDS))
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.count(" passed") == 1


def test_the_command_knows_the_names(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(json.dumps(toy.spec("extended", "base", STEPS, **NAMED)))
    printed = hone(installed, f"validate {tmp_path / 'spec.yaml'}", "describe grader.near", "describe method.median",
                   "describe harness.second_thought", "describe environment.mirror")
    for text in ("spec.yaml: valid", "The share of characters", "Factor of the advantages.",
                 "Text that follows the first answer.", "Write a number from its last digit"):
        assert text in printed


def test_a_run_trains_by_members_of_all_packages_and_a_process_without_one_names_it(
    extended: Scene, installed: Path, bases: Callable[..., Path]
) -> None:
    client = extended.client
    client.upload_model("extended-base", bases())
    trained = extended.finished(_create(client, "first").id)
    spec = client.run(trained.id).spec
    assert spec["packages"] == {f"hone-example-{kind}": "1.0" for kind in KINDS}
    assert extended.committed(trained.id) == STEPS

    for metadata in installed.glob("hone_example_harness-*"):
        shutil.rmtree(metadata)
    second = _create(client, "second").id
    lost: Run = wait_for("the end of the run", lambda: extended.ended(second), 60, 0.5)
    assert lost.state == "failed"
    assert lost.reason is not None
    assert "driver lacks the package hone-example-harness 1.0" in lost.reason


def _create(client: Client, name: str) -> Run:
    return client.create_run(toy.spec(name, "extended-base", STEPS, sampling={"max_tokens": 5}, **NAMED))
