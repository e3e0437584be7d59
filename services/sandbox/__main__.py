"""`python -m services.sandbox`: run programs of tenants and of models until SIGTERM.

It holds no key but the stack's.
"""

import os
import sys

from services.sandbox import secrets

if found := secrets.held(os.environ):
    os.execve(sys.executable, [sys.executable, "-m", "services.sandbox"], secrets.without(found, os.environ))

import logging

import uvloop

from hone.api import sandbox_pb2, sandbox_pb2_grpc
from hone.process import startup
from hone.process.memory import MemoryLimit
from hone.rpc.server import serve
from hone.spec import settings
from hone.spec.settings import Settings
from services.sandbox.levels import Level, asked_for
from services.sandbox.pool import Pool, usable
from services.sandbox.service import Sandbox

SERVICE = sandbox_pb2.DESCRIPTOR.services_by_name["SandboxService"].full_name
_log = logging.getLogger(__name__)


async def run(chosen: Settings, memory: MemoryLimit | None) -> None:
    """Serve until a stop signal, then end every program. Ends the process if the isolation asked for does not work."""
    own = chosen.sandbox
    preload = [name for name in own.preload.split(",") if name]
    level, reasons = await usable(asked_for(own.isolation), preload)
    if level is None:
        sys.exit(_refusal(own.isolation, reasons))
    pool = Pool(level, own.places or len(os.sched_getaffinity(0)), preload)
    _log.log(logging.INFO if level.strong else logging.WARNING, "isolation of programs: %s%s", level,
             "".join(f"; not {reason}" for reason in reasons))
    await pool.start()
    sandbox = Sandbox(pool, own.memory_mb << 20, reasons)
    try:
        await serve(
            chosen.addresses.sandbox, SERVICE, chosen.stack_token,
            lambda server: sandbox_pb2_grpc.add_SandboxServiceServicer_to_server(sandbox, server), memory=memory)
    finally:
        await pool.close()


def _refusal(isolation: str, reasons: list[str]) -> str:
    return (f"HONE_SANDBOX_ISOLATION: found {isolation}, which does not work on this machine ({'; '.join(reasons)}). "
            f"Allow user namespaces to this process, or ask for {Level.LIMITS}, which isolates less: docs/sandbox.md")


def main() -> None:
    chosen = settings.load("stack_token")
    uvloop.run(run(chosen, startup.begin("sandbox", chosen)))


if __name__ == "__main__":
    main()
