"""The operator's file of worlds, and what processes without one answer."""

from pathlib import Path

import pytest

from hone.environments import tasks
from hone.environments.contract import WrongParams
from hone.environments.foreign.places import Place, read
from hone.spec.problems import Invalid


def test_worlds_are_read_by_name(tmp_path: Path) -> None:
    file = tmp_path / "worlds.yaml"
    file.write_text("sums: {protocol: verifiers, python: /v/bin/python, package: sums}\n"
                    "calculator: {protocol: mcp, command: [calculator]}\n")
    assert read(file) == {"sums": Place(protocol="verifiers", python="/v/bin/python", package="sums"),
                          "calculator": Place(protocol="mcp", command=["calculator"])}
    assert read(None) == {}


@pytest.mark.parametrize(("text", "words"), [
    ("[1]", "HONE_WORLDS"), ("a: {protocol: gopher}", "HONE_WORLDS.a.protocol"), ("a: {protocol: openenv}", "a url"),
    ("a: {protocol: mcp, url: 'http://x', command: [x]}", "expected url or command"),
    ("a: {protocol: openenv, url: 'ftp://x'}", "http://"),
    ("a: {protocol: mcp, url: 'http://x', timeout_s: 500}", "50")])
def test_a_wrong_world_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "worlds.yaml"
    file.write_text(text)
    with pytest.raises(Invalid) as wrong:
        read(file)
    assert words in str(wrong.value)


@pytest.mark.parametrize("name", ["openenv", "verifiers", "mcp"])
def test_a_process_that_plays_no_worlds_says_so(name: str) -> None:
    one = tasks.episode(tasks.make(name, {"world": "far"}, 0, {"prompt": "q"}))
    with pytest.raises(WrongParams, match="the simulation service"):
        one.reset()
    with pytest.raises(WrongParams, match=r"params.world"):
        tasks.make(name, {"world": "http://169.254.169.254/"}, 0, {"prompt": "q"})
