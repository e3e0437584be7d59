"""Several ranks of one trainer: torchrun starts them. Torch-free, as the process that becomes torchrun needs none."""

import os
import sys
from collections.abc import Mapping
from typing import NoReturn

from hone.spec.settings import Settings
from hone.stack import ports

_LOOPBACK = "127.0.0.1"
_SHUTDOWN_S = 4
"""Seconds that ranks have to end when one of them did: less than the supervisor gives this process."""


def must_divide(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Tell whether this process has to become torchrun: ranks or GPUs are wanted, and nobody has started them yet."""
    return (settings.trainer.ranks > 1 or settings.trainer.device != "cpu") and "RANK" not in environment


def divide(settings: Settings) -> NoReturn:
    """Become torchrun, which starts the ranks on this machine; does not return.

    A rank that ends, ends all: the supervisor starts them again, and they go on from the snapshot. The ranks meet by a
    static rendezvous, as the dynamic ones unpickle what they are sent.
    """
    [port] = ports.pick(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # nobody else is meant
    os.execv(sys.executable, [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--node-rank", "0",
        "--nproc-per-node", str(settings.trainer.ranks), "--max-restarts", "0", "--rdzv-backend", "static",
        "--shutdown-timeout", str(_SHUTDOWN_S),
        "--master-addr", _LOOPBACK, "--master-port", str(port), "-m", "services.learner.trainer"])
