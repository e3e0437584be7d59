"""The launch of a trainer with several ranks by torchrun. Torch-free: the process that becomes torchrun needs none."""

import os
import sys
from collections.abc import Mapping
from typing import NoReturn

from hone.process import scratch
from hone.spec.settings import Settings
from hone.stack import ports

_LOOPBACK = "127.0.0.1"
_SHUTDOWN_S = 4
"""Seconds in which the ranks have to end after one of them did: less than the supervisor gives this process."""


def needs_torchrun(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Return whether this process has to become torchrun: ranks or GPUs are wanted, and torchrun has not started it."""
    return (settings.trainer.ranks > 1 or settings.trainer.device != "cpu") and "RANK" not in environment


def become_torchrun(settings: Settings) -> NoReturn:
    """Replace this process by torchrun, which starts the ranks on this machine.

    When one rank ends, torchrun ends them all. The supervisor then starts them again, and they go on from the snapshot.
    The ranks meet by torchrun's static rendezvous, because its dynamic ones unpickle messages.
    """
    scratch.begin_before_exec(settings.state)  # torchrun keeps files, and ranks may
    [port] = ports.pick(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all ranks are on this machine
    os.execv(sys.executable, [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--node-rank", "0",
        "--nproc-per-node", str(settings.trainer.ranks), "--max-restarts", "0", "--rdzv-backend", "static",
        "--shutdown-timeout", str(_SHUTDOWN_S),
        "--master-addr", _LOOPBACK, "--master-port", str(port), "-m", "services.learner.trainer"])
