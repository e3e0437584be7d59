"""The embedded stack: starting, dying, coming back, all with real supervisord and PostgreSQL."""

import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import psycopg
import pytest

from hone.stack import leftovers, ports, postgres
from hone.stack.embedded import Stack, StackNotReady
from hone.stack.lock import StackRunning
from hone.stack.processes import KINDS
from hone.stack.record import load
from hone.store.objects.s3 import StoreRefused
from tests.integration.stack.conftest import NONE, STAND_INS
from tests.servers.s3 import Server


@pytest.fixture(scope="module")
def stack(shared_directory: Path) -> Iterator[Stack]:
    with Stack(shared_directory / "stack", commands=STAND_INS, counts={"trainer": 2}) as running:
        running.wait_ready()
        yield running


def comes_back(stack: Stack, name: str, killed: int) -> int:
    """Wait until a process runs again and return its new pid; pytest's timeout is the deadline."""
    while (pid := stack.pids().get(name, killed)) == killed:
        time.sleep(0.05)
    stack.wait_ready()
    return pid


def note(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO tenants (id, name) VALUES ('noted', 'noted') ON CONFLICT DO NOTHING")


def noted(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT FROM tenants WHERE id = 'noted'").fetchone() is not None


def answering(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def test_every_process_runs_under_its_name(stack: Stack) -> None:
    usual = {f"{kind}-0" for kind in KINDS if KINDS[kind].only_with is None}
    assert set(stack.pids()) == {*usual, "trainer-1", "postgres", "supervisord"}


def test_a_child_has_its_name_the_servers_and_the_addresses(stack: Stack) -> None:
    environment = psutil.Process(stack.pids()["trainer-1"]).environ()
    record = stack.record()
    assert environment["HONE_PROCESS_NAME"] == "trainer-1"
    assert environment["HONE_DATABASE_URL"] == record.database_url
    assert environment["HONE_GATEWAY_DATABASE_URL"] == record.gateway_database_url
    assert environment["HONE_OBJECTS_URL"] == f"file://{stack.state}/objects"
    assert environment["HONE_BROKER_URL"] == f"filesystem://{stack.state}/broker"
    assert environment["HONE_REWARD_ADDRESS"] == record.addresses["reward-0"]
    assert environment["OMP_NUM_THREADS"] == environment["MKL_NUM_THREADS"] == "1"


def test_the_database_has_its_tables_and_each_role_logs_in_as_itself(stack: Stack) -> None:
    record = stack.record()
    for url, role in ((record.database_url, "hone_worker"), (record.gateway_database_url, "hone_gateway")):
        with psycopg.connect(url) as connection:
            row = connection.execute(
                "SELECT pg_has_role(%s, 'member'), rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user",
                (role,)).fetchone()
            assert row == (True, False, False)


def test_the_database_wants_a_password(stack: Stack) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgresql://postgres@127.0.0.1:{stack.record().ports['postgres']}/hone?sslmode=disable")


def test_no_server_process_is_roots(stack: Stack) -> None:
    assert psutil.Process(stack.pids()["postgres"]).uids().effective != 0


def test_secrets_are_their_owners_alone(stack: Stack) -> None:
    for name in ("stack.json", "logs", "objects", "broker", "supervisor.sock", "postgres/data"):
        assert (stack.state / name).stat().st_mode & 0o077 == 0, name


@pytest.mark.parametrize("name", ["reward-0", "trainer-1", "gateway-0", "postgres"])
def test_a_killed_process_comes_back_where_it_was(stack: Stack, name: str) -> None:
    before = stack.record()
    note(before.database_url)
    killed = stack.kill(name)
    assert comes_back(stack, name, killed) != killed
    assert stack.record() == before
    while not answering(before.database_url):
        time.sleep(0.05)
    assert noted(before.database_url)


def test_postgres_survives_the_kill_of_one_of_its_own_processes(stack: Stack) -> None:
    url, postmaster = stack.record().database_url, stack.pids()["postgres"]
    victim = psutil.Process(postmaster).children()[0]
    victim.kill()
    while leftovers.alive(victim) or not answering(url):
        time.sleep(0.02)
    assert stack.pids()["postgres"] == postmaster


def test_a_frozen_process_can_be_killed(stack: Stack) -> None:
    pid = stack.kill("value-0", signal.SIGSTOP)
    assert stack.kill("value-0") == pid
    comes_back(stack, "value-0", pid)


def test_a_second_stack_on_the_same_state_is_refused_by_name(stack: Stack) -> None:
    with pytest.raises(StackRunning, match=f"process {os.getpid()} already runs the stack in {stack.state}"):
        Stack(stack.state).start()
    stack.wait_ready()


def test_a_second_stack_beside_it_shares_nothing(
    stack: Stack, shared_directory: Path, make_stack: Callable[..., Stack],
) -> None:
    other = make_stack(shared_directory / "other", counts=NONE)
    other.start()
    note(other.record().database_url)
    with psycopg.connect(other.record().database_url) as connection:
        assert connection.execute("SELECT count(*) FROM api_keys").fetchone() == (1,)
    assert not set(other.record().ports.values()) & set(stack.record().ports.values())
    other.stop()
    stack.wait_ready()


def test_processes_of_a_killed_supervisor_are_ended_and_the_data_stays(
    shared_directory: Path, make_stack: Callable[..., Stack],
) -> None:
    stack = make_stack(shared_directory / "killed")
    stack.start()
    stack.wait_ready()
    note(stack.record().database_url)
    before, old = stack.record(), [psutil.Process(pid) for pid in stack.pids().values()]
    stack.kill("supervisord")
    stack.restart()
    stack.wait_ready()
    assert not any(leftovers.alive(process) for process in old)
    assert stack.record() == before
    assert noted(before.database_url)


def test_everything_killed_at_once_comes_back(shared_directory: Path, make_stack: Callable[..., Stack]) -> None:
    stack = make_stack(shared_directory / "all", counts=NONE)
    stack.start()
    note(stack.record().database_url)
    stack.kill("supervisord")
    leftovers.end(leftovers.working_in(stack.state / "postgres" / "data"), signal.SIGKILL)
    stack.restart()
    assert noted(stack.record().database_url)


def test_stopping_leaves_no_process_and_no_socket(shared_directory: Path, make_stack: Callable[..., Stack]) -> None:
    stack = make_stack(shared_directory / "stopped")
    stack.start()
    stack.wait_ready()
    running = [psutil.Process(pid) for pid in stack.pids().values()]
    stack.stop()
    assert not any(leftovers.alive(process) for process in running)
    assert not leftovers.marked(stack.state)
    assert not stack.supervisor.answers()
    assert "database system is shut down" in (stack.state / "logs" / "postgres.log").read_text()


def test_a_service_that_is_late_is_named_with_its_last_log_line_and_its_log(
    shared_directory: Path, make_stack: Callable[..., Stack],
) -> None:
    failing = ["python3", "-c", "raise SystemExit('no model here')"]
    stack = make_stack(shared_directory / "failing", counts={**NONE, "inference": 1, "sandbox": 1},
                       commands={"inference": failing, "sandbox": failing})  # nobody waits for the second
    stack.start()
    with pytest.raises(StackNotReady) as late:
        stack.wait_ready(2.0)
    log, address = stack.state / "logs" / "inference-0.log", stack.record().addresses["inference-0"]
    assert str(late.value) == (
        f"not ready after 2 s, while it waited for\n  inference-0 to answer at {address}: no model here\n    log {log}")
    assert "no model here" in log.read_text()


@pytest.mark.parametrize("options", [{"settings": {"leese_s": 1}}, {"counts": {"trainr": 1}}], ids=["setting", "kind"])
def test_a_mistake_is_named_before_anything_starts(shared_directory: Path, options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"leese_s|trainr"):
        Stack(shared_directory / "mistake", **options).start()  # type: ignore[arg-type]
    assert not (shared_directory / "mistake" / "postgres" / "data").exists()


def test_works_with_default_ports_taken_and_an_empty_environment(
    shared_directory: Path, make_stack: Callable[..., Stack],
) -> None:
    with ExitStack() as taken:
        for port in (5432, 5672, 8470, 8471, 8472, 8473, 8474, 8475):
            if ports.is_free(port):
                taken.enter_context(socket.create_server(("127.0.0.1", port)))
        stack = make_stack(shared_directory / "bare", environ={"PATH": "/usr/bin:/bin", "HOME": ""})
        stack.start()
        stack.wait_ready()
        assert psutil.Process(stack.pids()["reward-0"]).environ()["HOME"] == str(stack.state)


def test_a_long_state_path_is_fine(shared_directory: Path, make_stack: Callable[..., Stack]) -> None:
    stack = make_stack(shared_directory / ("a long name " * 8) / "100%", counts={**NONE, "reward": 1})
    stack.start()
    stack.wait_ready()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_a_state_that_others_cannot_pass_keeps_its_database_elsewhere(
    shared_directory: Path, make_stack: Callable[..., Stack],
) -> None:
    private = shared_directory / "private"
    private.mkdir(mode=0o700)
    stack = make_stack(private / "state", counts=NONE)
    stack.start()
    place = postgres.home(stack.state)
    assert place.parent == Path("/var/lib")
    note(stack.record().database_url)
    stack.stop()
    stack.start()
    assert noted(stack.record().database_url)
    stack.stop()
    (stack.state / "stack.json").unlink()  # a new state under an old path starts empty
    stack.start()
    assert not noted(stack.record().database_url)
    stack.stop()
    shutil.rmtree(place)


def test_a_database_whose_record_is_gone_is_not_thrown_away(
    shared_directory: Path, make_stack: Callable[..., Stack],
) -> None:
    stack = make_stack(shared_directory / "forgotten", counts=NONE)
    stack.start()
    stack.stop()
    (stack.state / "stack.json").unlink()
    with pytest.raises(postgres.DataOfAnother, match="restore that file"):
        stack.start()
    assert (stack.state / "postgres" / "data" / "PG_VERSION").exists()


def test_given_servers_are_used_and_none_is_embedded(
    shared_directory: Path, postgres_owner_url: str, s3: Server, make_stack: Callable[..., Stack],
) -> None:
    stack = make_stack(shared_directory / "given", counts={**NONE, "reward": 1}, settings={
        "database_url": postgres_owner_url, "objects_url": s3.url("hone-given"), "broker_url": "amqp://a:b@127.0.0.1:1//"})
    stack.start()
    stack.wait_ready()
    record = load(stack.state)
    assert set(stack.pids()) == {"reward-0", "supervisord"}
    assert record.objects_url == s3.url("hone-given")
    assert record.broker_url == "amqp://a:b@127.0.0.1:1//"
    assert not (stack.state / "postgres").exists()
    note(record.database_url)
    assert noted(postgres_owner_url)
    with psycopg.connect(record.gateway_database_url) as connection:
        connection.execute("SELECT set_config('hone.tenant', 'noted', true)")
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)


def test_a_wrong_secret_for_the_objects_is_refused(
    shared_directory: Path, s3: Server, make_stack: Callable[..., Stack],
) -> None:
    wrong = s3.url("hone-given", secret="not-the-secret")
    with pytest.raises(StoreRefused, match="refused this key and secret"):
        make_stack(shared_directory / "wrong", settings={"objects_url": wrong}).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_binaries_that_others_cannot_reach_are_copied(
    shared_directory: Path, monkeypatch: pytest.MonkeyPatch, make_stack: Callable[..., Stack],
) -> None:
    private = shared_directory / "environment"
    private.mkdir(mode=0o700)
    packaged = postgres.packaged()
    for name in (packaged.name, f"{packaged.name}.libs"):
        shutil.copytree(packaged.with_name(name), private / name, ignore=shutil.ignore_patterns("pginstall"))
    monkeypatch.syspath_prepend(private)
    stack = make_stack(shared_directory / "copied", counts=NONE, environ={**os.environ, "PYTHONPATH": str(private)})
    stack.start()
    server = psutil.Process(stack.pids()["postgres"])
    assert Path(server.exe()).is_relative_to(stack.state / "postgres" / "server")
    stack.kill("postgres")
    comes_back(stack, "postgres", server.pid)


def test_a_service_is_a_fork_of_the_supervisor_and_comes_back_as_one(tmp_path: Path) -> None:
    counts = {**NONE, "value": 1, "sandbox": 1}
    with Stack(tmp_path, counts=counts) as stack:
        stack.wait_ready()
        forked = psutil.Process(comes_back(stack, "value-0", stack.kill("value-0")))
        assert forked.cmdline()[0].endswith("-m services.value")
        supervisor = psutil.Process(stack.pids()["supervisord"])
        assert forked.exe() == supervisor.exe()
        assert forked.ppid() == supervisor.pid
        libraries = {path for path in (one.path for one in forked.memory_maps()) if "grpc" in path}
        assert libraries
        assert libraries <= {one.path for one in supervisor.memory_maps()}
        forked.terminate()
        comes_back(stack, "value-0", forked.pid)
        sandbox = psutil.Process(stack.pids()["sandbox-0"])
        assert sandbox.cmdline()[1:] == ["-m", "services.sandbox"]
        assert "HONE_DATABASE_URL" not in sandbox.environ()
