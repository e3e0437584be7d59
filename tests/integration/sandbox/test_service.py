"""The sandbox's border: what it refuses, whose turn it is, who left, and where it does not start."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from hone.api.sandbox_pb2 import DescribeRequest, RunLimits, RunRequest
from hone.api.sandbox_pb2_grpc import SandboxServiceStub
from hone.sandbox import client
from hone.sandbox.client import ProgramRefused, Sandbox, SandboxBusy
from hone.sandbox.program import Ended, Limits, Program, Ran
from hone.stack import ports
from services.sandbox.cell import family
from services.sandbox.levels import Level
from tests.integration.sandbox.conftest import Run, absent, runner
from tests.integration.sandbox.hacks import HACKS
from tests.servers.service import Service, refused_field, running
from tests.support.sandbox.rewards import RIGHT, rewarded, solved

ASLEEP = Program("import time\ntime.sleep(30)", limits=Limits(wall_s=30))


@pytest.mark.parametrize(("request_", "field", "message"), [
    (RunRequest(files={"../x": b""}), "files", "found '../x', expected a path below the program's directory"),
    (RunRequest(files={"/etc/passwd": b""}), "files", "found '/etc/passwd'"),
    (RunRequest(files={"a/../../b": b""}), "files", "found 'a/../../b'"),
    (RunRequest(source="x" * 300_000), "source", "found '300000 bytes', expected at most 262144"),
    (RunRequest(function="f()"), "function", "expected the name of a function"),
    (RunRequest(function="f", calls_json=["{}"]), "calls_json[0]", "found '{}', expected a JSON array of arguments"),
    (RunRequest(calls_json=["[]"]), "function", "found 'nothing'"),
    (RunRequest(limits=RunLimits(wall_s=-1)), "limits.wall_s", "found -1.0, expected a number from 0 to 600"),
    (RunRequest(limits=RunLimits(cpu_s=float("nan"))), "limits.cpu_s", "found nan"),
    (RunRequest(limits=RunLimits(memory_bytes=2**40)), "limits.memory_bytes", "expected a number from 16777216 to"),
    (RunRequest(wait_s=float("inf")), "wait_s", "found inf"),
])
def test_bad_input_is_named(service: Service, request_: RunRequest, field: str, message: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        SandboxServiceStub(service.channel).Run(request_, timeout=60)
    found, said = refused_field(refused.value)
    assert found == field
    assert message in said


def test_no_call_through_the_door_reaches_it(service: Service) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        SandboxServiceStub(service.channel).Run(RunRequest(), timeout=60, metadata=(("hone-tenant", "tenant_1"),))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_the_service_and_its_keepers_hold_no_secrets(need: Callable[[str | None], None]) -> None:
    need(absent(Level.NAMESPACES))
    secrets = {"HONE_DATABASE_URL": "postgresql://a:b@c/d", "HONE_API_KEY": "tml-1", "AWS_SECRET_ACCESS_KEY": "x",
               "HONE_SANDBOX_PRELOAD": "", "HONE_SANDBOX_PLACES": "1"}
    with running("sandbox", **secrets) as one:
        own = Path(f"/proc/{one.process.pid}/environ").read_text()
        assert "HONE_STACK_TOKEN" in own
        assert not [name for name in ("DATABASE_URL", "API_KEY", "ACCESS_KEY") if name in own]
        keepers = [Path(f"/proc/{pid}/environ").read_text() for pid in family(one.process.pid)]
        assert keepers
        assert not [text for text in keepers if "HONE_" in text or "ACCESS" in text]


def test_one_who_fills_the_places_does_not_keep_others_waiting(service: Service) -> None:
    stub: Any = SandboxServiceStub(service.channel)
    slow = client.request(Program("import time\ntime.sleep(0.4)"), "greedy", "run_1")
    with ThreadPoolExecutor(9) as threads:
        greedy = [threads.submit(stub.Run, slow, timeout=120) for _ in range(8)]
        while stub.Describe(DescribeRequest()).waiting < 6:
            time.sleep(0.01)
        other = stub.Run(client.request(Program("print(1)"), "other", "run_2"), timeout=120)
        assert client.ran(other).stdout == b"1\n"
        assert sum(one.done() for one in greedy) < 6
        assert {client.ran(one.result()).status for one in greedy} == {Ended.FINISHED}


async def described(sandbox: Sandbox, running_: int) -> None:
    while (await sandbox.describe(5)).running != running_:
        await asyncio.sleep(0.01)


async def asked(service: Service) -> tuple[str, Ran, Ran]:
    """Fill both places, be refused, leave, and run again; then send what is no JSON, and kill the keepers."""
    variables = Path(f"/proc/{service.process.pid}/environ").read_text()
    address = variables.partition("HONE_SANDBOX_ADDRESS=")[2].partition("\0")[0]
    async with Sandbox(address, os.environ["HONE_STACK_TOKEN"]) as sandbox:
        asleep = [asyncio.create_task(sandbox.run(ASLEEP, "tenant_1", "run_1")) for _ in range(2)]
        await described(sandbox, 2)
        with pytest.raises(SandboxBusy) as busy:
            await sandbox.run(Program("1"), wait_s=0.2)
        for task in asleep:
            task.cancel()
        await described(sandbox, 0)
        after = await sandbox.run(Program("print(1)"))
        with pytest.raises(ProgramRefused, match=r"calls\[0\]: found .* expected JSON values"):
            await sandbox.run(Program("", function="f", calls=[[{1}]]))
        doomed = asyncio.create_task(sandbox.run(ASLEEP))
        await described(sandbox, 1)
        for pid in family(service.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return str(busy.value), after, await doomed


def test_waiting_leaving_and_killed_keepers(service: Service, run: Run) -> None:
    busy, after, broken = asyncio.run(asked(service))
    assert "no place was free for 0.2 s: the run's programs used" in busy
    assert (after.status, after.stdout) == (Ended.FINISHED, b"1\n")
    assert broken.status is Ended.INFRA_ERROR
    assert rewarded(run(solved(RIGHT)))


WITHIN_LIMITS = ("exit 0 in a call", "network", "infinite loop", "memory bomb", "1 GB of output", "environment",
                 "kills its parent", "closes its pipes", "thread bomb")


def test_limits_alone_stop_what_they_say() -> None:
    with running("sandbox", HONE_SANDBOX_ISOLATION="limits", HONE_SANDBOX_PLACES="1", HONE_SANDBOX_PRELOAD="") as one:
        run = runner(one)
        for name in WITHIN_LIMITS:
            hack = HACKS[name]
            ran = run(solved(hack.source, limits=hack.limits))
            assert not rewarded(ran), name
            assert ran.status in hack.ends, (name, ran)
        assert "Operation not permitted" in run(solved("import os\ndef solve(x): os.fork()")).outcomes[0].error
        assert rewarded(run(solved(RIGHT)))


def test_it_does_not_start_with_weaker_walls_than_were_asked_for(need: Callable[[str | None], None]) -> None:
    need(absent(Level.NAMESPACES) or (None if shutil.which("unshare") else "unshare is not installed"))
    none_left = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    ended = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", none_left, "sh", sys.executable, "-m", "services.sandbox"],
        env={**os.environ, "HONE_SANDBOX_ADDRESS": f"127.0.0.1:{ports.pick(1)[0]}"},
        capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "HONE_SANDBOX_ISOLATION: found strongest, which does not work on this machine" in ended.stderr
    assert "namespaces: this process may have no user namespaces: unshare: No space left on device" in ended.stderr
    assert "Allow user namespaces" in ended.stderr
