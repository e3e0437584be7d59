"""Programs of others: answers by episode, deadlines, ends, and an environment without the service's secrets."""

import os
import sys
import time

import pytest

from hone.environments.foreign.program import Gone, Late, Program

ECHO = """
import json, os, sys
for line in sys.stdin:
    said = json.loads(line)
    if said.get("text") == "variables":
        said["text"] = sorted(os.environ)
    if said.get("text") == "die":
        sys.exit("the program's own defect")
    if said.get("text") != "silence" and "leave" not in said:
        print(json.dumps(said), flush=True)
"""


def test_answers_reach_their_episodes_and_nothing_of_the_service_reaches_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HONE_STACK_TOKEN", "a secret")
    program = Program([sys.executable, "-c", ECHO], {"OWN": "1"})
    try:
        assert program.ask("a", {"text": "hello"}, 20) == {"id": "a", "text": "hello"}
        names = program.ask("b", {"text": "variables"}, 20)["text"]
        assert {"OWN", "HOME", "PATH"} <= set(names)
        assert not [name for name in names if name.startswith("HONE")]
        with pytest.raises(Late, match=r"within 0\.1 s"):
            program.ask("a", {"text": "silence"}, 0.1)
        program.forget("b")
        with pytest.raises(Gone, match="status 1; it said last: the program's own defect"):
            program.ask("a", {"text": "die"}, 20)
        assert not program.alive
        with pytest.raises(Gone):
            program.send("a", {})
    finally:
        program.close()


def test_a_program_that_hangs_is_killed_with_its_children() -> None:
    source = ("import subprocess, sys; child = subprocess.Popen(['sleep', '60']); "
              "print('{\"id\": \"a\", \"pid\": %d}' % child.pid, flush=True)\nwhile True: pass")
    program = Program([sys.executable, "-c", source], {})
    child = program.ask("a", {}, 20)["pid"]
    program.close()
    ends = time.monotonic() + 20
    while program.alive and time.monotonic() < ends:
        time.sleep(0.01)
    assert not program.alive
    while time.monotonic() < ends and _runs(child):
        time.sleep(0.01)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_there_is_no_program_of_that_name() -> None:
    with pytest.raises(NotADirectoryError):
        Program([os.devnull + "/none"], {})
