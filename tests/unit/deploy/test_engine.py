"""The test of the Compose file leaves nothing of its own behind: the engine by hand, its filters, others' images."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
RULES = "*filter\n:INPUT DROP [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT"


def program(directory: Path, name: str, script: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/usr/bin/env bash\n{script}\n")
    (directory / name).chmod(0o755)


def run(command: list[str], programs: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_an_engine_that_does_not_start_is_taken_down_again(tmp_path: Path) -> None:
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    program(tmp_path / "programs", "docker", "exit 1")
    program(tmp_path / "deploy" / "standin", "engine.sh", f'echo "$1" >> {tmp_path}/calls; test "$1" = stop')
    ended = run([str(tmp_path / "deploy" / "test.sh"), "python", str(tmp_path / "cache")], tmp_path / "programs")
    assert ended.returncode == 1
    assert (tmp_path / "calls").read_text().split() == ["start", "stop"]


@pytest.mark.parametrize(("saved", "filters"), [
    ("", "*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT\nCOMMIT"), (RULES, RULES)])
def test_what_is_put_back_has_every_table_that_an_engine_writes_to(tmp_path: Path, saved: str, filters: str) -> None:
    program(tmp_path / "programs", "iptables-save", f"printf '%s' '{saved}'")
    ended = run([str(DEPLOY / "standin" / "engine.sh"), "filters", str(tmp_path)], tmp_path / "programs")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == (
        f"{filters}\n*nat\n:PREROUTING ACCEPT\n:INPUT ACCEPT\n:OUTPUT ACCEPT\n:POSTROUTING ACCEPT\nCOMMIT")


def test_images_and_ports_are_other_than_a_deployments() -> None:
    compose, script = ((DEPLOY / name).read_text() for name in ("../docker-compose.yml", "test.sh"))
    for variable in re.findall(r"image: \$\{([A-Z_]+):-hone-", compose) + re.findall(r"\$\{([A-Z_]+LISTEN):-", compose):
        assert re.search(rf"^export .*\b{variable}=", script, re.MULTILINE), variable
    assert set(re.findall(r"HONE_[A-Z]+_IMAGE=([a-z-]+)/", script)) == {"hone-test"}
    assert "COMPOSE_PROJECT_NAME=hone-test " in script
