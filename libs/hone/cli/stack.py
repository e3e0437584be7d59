"""Commands about processes: `hone up`, `hone down`, `hone status` for a stack, `hone prepare` for a deployment."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, NoReturn

import psutil
import typer
from psycopg import OperationalError

from hone.process import disks
from hone.spec import settings
from hone.spec.settings import Settings
from hone.stack import deployment, embedded, interruption, leftovers, lock, postgres
from hone.stack.embedded import Stack, StackNotReady
from hone.stack.lock import StackRunning
from hone.stack.postgres import DataOfAnother, PostgresMissing
from hone.stack.provision import RoleRefused
from hone.stack.record import Record, StackMissing, load, reachable
from hone.stack.supervision import Status, Supervisor, SupervisorAway
from hone.store.objects import StoreAway
from hone.store.schema import MigrationFailed, SchemaMismatch

_DOWN_S = 20.0
_AGAIN_S = 5.0
_UP = {"RUNNING", "STARTING"}
_OWNER = "HONE_OWNER_DATABASE_URL"
_PUBLISHED = {"gateway": ("HONE_LISTEN", "http://{}"), "console": ("HONE_CONSOLE_LISTEN", "http://{}"),
              "gRPC": ("HONE_DOOR_LISTEN", "{}  (TLS: docker compose cp door:/run/secrets/door/cert.pem .)")}
"""Published address of a deployment: the variable with it, and how it is shown."""
_MISTAKES = (
    OperationalError, StackRunning, StackNotReady, StackMissing, RoleRefused, DataOfAnother, PostgresMissing,
    SchemaMismatch, MigrationFailed, StoreAway, PermissionError, ValueError,
)

State = Annotated[Path, typer.Option(
    "--state", envvar="HONE_STATE", help="Directory of the stack: data, logs, keys.")]
DEFAULT_STATE = Path(".hone")

app = typer.Typer(help="The stack on this machine.")


@app.command()
def up(
    state: State = DEFAULT_STATE,
    detach: Annotated[bool, typer.Option("--detach", help="Return when the stack is ready; it runs on.")] = False,
    count: Annotated[list[str] | None, typer.Option(
        "--count", metavar="KIND=N", help="Number of processes of a kind, for instance trainer=2; repeatable.")] = None,
    env: Annotated[list[str] | None, typer.Option(
        "--env", metavar="KEY=VALUE", help="Variable for every process: HONE_LEASE_S=5; repeatable.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds until the stack must be ready.")] = 120.0,
) -> None:
    """Start the stack and keep it running until Ctrl-C. Runs of an earlier stack continue where they were."""
    try:
        if detach:
            _detached(state.resolve(), count or [], env or [], timeout)
        else:
            _foreground(_stack(state, count or [], env or []), timeout)
    except _MISTAKES as error:
        _fail(error)


@app.command()
def down(state: State = DEFAULT_STATE) -> None:
    """Stop the stack, services first, PostgreSQL last. Its data stays."""
    place = state.resolve()
    try:
        load(place)
    except StackMissing as error:
        _fail(error)
    running = lock.holder(place)
    if running is not None:
        leftovers.end([psutil.Process(running)], grace_s=_DOWN_S)
    embedded.clear(place)
    typer.echo(f"the stack in {place} is down")


@app.command()
def status(state: State = DEFAULT_STATE) -> None:
    """Show every process of the stack: state, pid, seconds since its start, and its last log line if it is down."""
    place = state.resolve()
    try:
        found = load(place)
        processes = Supervisor(place).processes()
    except StackMissing as error:
        _fail(error)
    except SupervisorAway:
        full = "".join(f"; {disk.shortage(0)}" for disk in _disks(found, place) if disk.full)
        _fail(f"the stack in {place} is not running (hone up starts it){full}")
    console = f"  console {found.console_url}" if found.console_url else ""
    door = f"  gRPC {found.door_address}" if found.door_address else ""
    typer.echo(f"{found.gateway_url}{console}{door}  state {place}")
    for one in processes:
        typer.echo(_line(place, one))
    written, low = _disks(found, place), settings.load().disk_low_gb * 2**30
    for disk in written:
        typer.echo(f"disk           {disk.shortage(low) or f'{disk.left} left in {disk.directory}'}")
    if any(disk.full for disk in written) or any(one.state not in _UP for one in processes):
        raise typer.Exit(1)


def _disks(found: Record, state: Path) -> list[disks.Disk]:
    """Return the disks that the stack writes to on this machine."""
    chosen = Settings(objects_url=found.objects_url, broker_url=found.broker_url, state=state)
    database = postgres.home(state)
    return disks.look([*disks.written(chosen), *([database] if database.exists() else [])])


def prepare(
    timeout: Annotated[float, typer.Option(help="Seconds until the database must answer.")] = 60.0,
    first_key: Annotated[bool, typer.Option(
        "--first-key", help="Make an API key if none exists, and print it and the published addresses.")] = False,
) -> None:
    """Prepare the servers of a deployment, which HONE_* variables name: tables, logins, bucket. Upgrades older
    tables. Safe to repeat."""
    try:
        chosen = settings.load()
        upgrade = deployment.prepare(chosen, settings.resolved(os.environ).get(_OWNER, ""), timeout)
        typer.echo(f"ready; {upgrade}")
        if first_key:
            _introduce(deployment.first_key(chosen))
    except _MISTAKES as error:
        _fail(error)


def _introduce(key: str | None) -> None:
    """Print what a person needs for the first visit."""
    for name, (variable, form) in _PUBLISHED.items():
        if place := os.environ.get(variable):
            typer.echo(f"{name:<8} {form.format(reachable(place))}")
    typer.echo(f"API key  {key}  (shown this once)" if key else
               "API key  made at the first start; `hone keys first NAME` makes another key")


def summary(record: Record, state: Path, seconds: float) -> str:
    """Return the lines about a stack that is ready: its addresses, and the files with its key and certificate."""
    console = f", console {record.console_url}" if record.console_url else ""
    door = f"\ngRPC {record.door_address}  (certificate {record.door_certificate})" if record.door_address else ""
    return (f"ready after {seconds:.1f} s: {record.gateway_url}{console}  "
            f"(key and addresses in {state / 'stack.json'}){door}")


def _stack(state: Path, counts: list[str], variables: list[str]) -> Stack:
    environment = {**os.environ, **_pairs("--env", variables)}
    return Stack(state, counts=_numbers(_pairs("--count", counts)), environ=environment)


def _foreground(stack: Stack, timeout_s: float) -> None:
    interruption.stop_once()
    begin = time.monotonic()
    try:
        stack.start(timeout_s)
        stack.wait_ready(timeout_s)
        typer.echo(summary(stack.record(), stack.state, time.monotonic() - begin))
        _watch(stack)
    except KeyboardInterrupt:
        stack.stop()
        typer.echo(f"the stack in {stack.state} is down")
    finally:
        stack.stop()  # after a failure too


def _watch(stack: Stack) -> NoReturn:
    """Print every restart of a process. Asking often also makes supervisord look often."""
    known = stack.pids()
    while True:
        interruption.rest(0.5)
        try:
            found = stack.pids()
        except SupervisorAway:
            typer.echo("supervisord ended; starting everything again")
            _restart(stack)
            found = known = stack.pids()
        for name in sorted(name for name, pid in found.items() if known.get(name, pid) != pid):
            typer.echo(f"{name} ended and was started again, now as process {found[name]}")
        known |= found


def _restart(stack: Stack) -> None:
    """Start everything again, again and again while that fails, because the disk is full for instance."""
    while True:
        try:
            return stack.restart()
        except (OSError, OperationalError, StackNotReady) as error:
            typer.echo(f"not started, and tried again: {error}")
            interruption.rest(_AGAIN_S)


def _detached(state: Path, counts: list[str], variables: list[str], timeout_s: float) -> None:
    """Run the same command in a new session and wait until its stack is ready."""
    running = lock.holder(state)
    if running is not None:
        raise StackRunning(f"process {running} already runs the stack in {state} (hone down ends it)")
    (state / "logs").mkdir(mode=0o711, parents=True, exist_ok=True)
    log = state / "logs" / "up.log"
    options = [*(f"--count={one}" for one in counts), *(f"--env={one}" for one in variables)]
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "hone.cli.stack", "up", f"--state={state}", f"--timeout={timeout_s}", *options],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    while not log.read_text().startswith("ready"):
        if child.poll() is not None:
            raise StackNotReady(log.read_text().strip().removeprefix("error: "))
        time.sleep(0.05)
    typer.echo(log.read_text().strip())


def _pairs(option: str, words: list[str]) -> dict[str, str]:
    for word in words:
        if "=" not in word[1:]:
            raise ValueError(f"{option}: found {word!r}, expected NAME=VALUE")
    return dict(word.split("=", 1) for word in words)


def _numbers(pairs: dict[str, str]) -> dict[str, int]:
    for kind, value in pairs.items():
        if not value.isdecimal():
            raise ValueError(f"--count {kind}: found {value!r}, expected a number")
    return {kind: int(value) for kind, value in pairs.items()}


def _line(state: Path, one: Status) -> str:
    words = "" if one.state in _UP else embedded.last_line(state, one.name)
    return f"{one.name:<14} {one.state:<9} {one.pid or '-':>8} {one.uptime_s:>7.0f} s  {words}".rstrip()


def _fail(error: object) -> NoReturn:
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(1)


if __name__ == "__main__":
    app()
