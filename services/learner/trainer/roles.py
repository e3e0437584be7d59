"""What a process of a trainer is: rank 0, which leases and orders, or one that follows it."""

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Mapping

import torch

from hone import garbage
from hone.models.ranks import ALONE, Ranks
from hone.spec.settings import Settings
from hone.telemetry import logs, process
from services.learner.trainer.crew import Crew
from services.learner.trainer.process import Trainer

_PR_SET_PDEATHSIG = 1


def play(settings: Settings) -> None:
    """Do this process's part until the trainer is told to end. Raises RanksLost when another rank died or hung."""
    torch.set_num_threads(1)  # for each of its threads
    crew = Crew(joined(settings, os.environ))
    if crew.ranks.rank:
        follow(crew)
    else:
        lead(crew, settings)


def lead(crew: Crew, settings: Settings) -> None:
    """Lease models and train them, with the other ranks where there are some."""
    process.begin("trainer", settings)
    trainer = Trainer(settings, settings.process_name or f"{socket.gethostname()}:{os.getpid()}", crew)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: trainer.stop())
    trainer.run()


def follow(crew: Crew) -> None:
    """Do what rank 0 orders. It alone is asked to end: then it lets this one go, after the unit in hand."""
    logs.configure()
    garbage.spare()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    crew.follow()


def joined(settings: Settings, environment: Mapping[str, str]) -> Ranks:
    """Return this process's place among those that torchrun started, or alone."""
    if "RANK" not in environment:
        return ALONE
    _die_with_parent()
    from hone.models.group import Group  # takes a second to load

    return Group.join(settings.trainer_device, settings.trainer_stall_s)


def _die_with_parent() -> None:
    """End with torchrun, however that ends: ranks that outlive it would hold leases beside those that come next."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
