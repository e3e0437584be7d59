"""`hone up`, `hone down`, `hone status` as processes of their own."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hone.stack import leftovers, supervision
from hone.stack.processes import KINDS
from hone.stack.record import load

ONLY_POSTGRES = [f"--count={kind}=0" for kind in KINDS]


@pytest.fixture
def state(shared_directory: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    place = shared_directory / hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    yield place
    hone("down", place)


def command(verb: str, state: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "hone.cli.stack", verb, f"--state={state}", *options]


def hone(verb: str, state: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(verb, state, *options), capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, **environment})


def up(state: Path) -> subprocess.Popen[str]:
    """Start `hone up` in the foreground and wait until it says that it is ready."""
    process = subprocess.Popen(command("up", state, *ONLY_POSTGRES), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ready after")
    return process


def test_up_detached_then_status_then_down(state: Path) -> None:
    started = hone("up", state, "--detach", *ONLY_POSTGRES)
    assert started.stdout.startswith("ready after"), started.stderr
    shown = hone("status", state)
    assert shown.returncode == 0
    assert re.search(r"^postgres +(STARTING|RUNNING) +\d+ +\d+ s$", shown.stdout, re.MULTILINE)
    assert hone("down", state).stdout == f"the stack in {state} is down\n"
    after = hone("status", state)
    assert (after.returncode, after.stderr) == (1, f"error: the stack in {state} is not running (hone up starts it)\n")


@pytest.mark.parametrize("verb", ["down", "status"])
def test_a_missing_stack_is_reported(tmp_path: Path, verb: str) -> None:
    done = hone(verb, tmp_path)
    assert (done.returncode, done.stderr) == (1, f"error: there is no stack in {tmp_path} (hone up creates a stack)\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything(state: Path, number: signal.Signals) -> None:
    process = up(state)
    process.send_signal(number)
    output, _ = process.communicate(timeout=120)
    assert output == f"the stack in {state} is down\n"
    assert process.returncode == 0
    assert not leftovers.marked(state)
    assert not leftovers.working_in(state / "postgres" / "data")


def test_a_second_up_names_the_process_that_runs_the_stack(state: Path) -> None:
    process = up(state)
    for options in ([], ["--detach"]):
        second = hone("up", state, *options)
        assert second.returncode == 1
        assert f"process {process.pid} already runs the stack in {state}" in second.stderr
    process.terminate()
    process.communicate(timeout=120)


def test_after_a_hard_kill_the_next_up_ends_leftover_processes_and_starts(state: Path) -> None:
    process = up(state)
    process.kill()
    process.communicate(timeout=120)
    before, left = load(state), leftovers.marked(state)
    assert left
    process = up(state)
    assert not any(leftovers.alive(one) for one in left)
    assert load(state) == before
    process.terminate()
    process.communicate(timeout=120)


def test_after_a_hard_kill_down_ends_leftover_processes(state: Path) -> None:
    process = up(state)
    process.kill()
    process.communicate(timeout=120)
    assert hone("down", state).returncode == 0
    assert not leftovers.marked(state)


def test_up_reports_restarted_processes_and_survives_the_supervisors_death(state: Path) -> None:
    process = up(state)
    assert process.stdout is not None
    [supervisor] = [one for one in leftovers.marked(state) if leftovers.runs(one, supervision.DAEMON)]
    [postgres] = [one for one in supervisor.children() if one.cwd() == str(state / "postgres" / "data")]
    postgres.kill()
    assert process.stdout.readline().startswith("postgres ended and was started again, now as process ")
    supervisor.kill()
    while not any(leftovers.runs(one, supervision.DAEMON) for one in leftovers.marked(state)):
        time.sleep(0.1)
    while hone("status", state).returncode != 0:
        time.sleep(0.1)
    process.terminate()
    assert process.communicate(timeout=120)[0].endswith(f"the stack in {state} is down\n")


def test_works_with_only_a_path_in_the_environment(state: Path) -> None:
    done = subprocess.run(
        command("up", state, "--detach", *ONLY_POSTGRES), env={"PATH": "/usr/bin:/bin"}, cwd="/",
        capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.startswith("ready after"), done.stderr


@pytest.mark.parametrize(("options", "environment", "message"), [
    (["--count=trainer"], {}, "--count: found 'trainer', expected NAME=VALUE"),
    (["--count=trainer=many"], {}, "--count trainer: found 'many', expected a number"),
    (["--count=trainr=1"], {}, "kind of process: found 'trainr', expected one of"),
    (["--env=HONE_LEASE_S"], {}, "--env: found 'HONE_LEASE_S', expected NAME=VALUE"),
    (["--env=HONE_LEASE_S=soon"], {}, 'HONE_LEASE_S: found "soon", expected a valid number'),
    ([], {"HONE_SWEEP_S": "0"}, 'HONE_SWEEP_S: found "0", expected greater than 0'),
    ([], {"HONE_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x"}, "the database does not answer"),
])
def test_a_mistake_is_named(state: Path, options: list[str], environment: dict[str, str], message: str) -> None:
    done = hone("up", state, "--timeout=2", *options, **environment)
    assert done.returncode == 1
    assert message in done.stderr
