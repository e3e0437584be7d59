"""What a process of a trainer is: rank 0, which leases and orders, or one that follows it."""

import os
import signal
from collections.abc import Mapping

import torch

from hone import garbage
from hone.models.ranks import ALONE, Ranks
from hone.process import startup
from hone.process.ending import STOP_SIGNALS, die_with_parent, on_stop_signal
from hone.spec.settings import Settings
from hone.telemetry import logs
from services.learner.trainer.process import Trainer
from services.learner.trainer.rank_group import RankGroup

STALL_S = 300.0
"""Seconds that one exchange between ranks may take. After that they end and are started again."""


def play(settings: Settings) -> None:
    """Do this process's part until the trainer is told to end. Raises RanksLost when another rank died or hung."""
    torch.set_num_threads(1)  # for each of its threads
    group = RankGroup(joined(settings, os.environ))
    if group.ranks.rank:
        follow(group)
    else:
        lead(group, settings)


def lead(group: RankGroup, settings: Settings) -> None:
    """Lease models and train them, with the other ranks where there are some."""
    startup.begin("trainer", settings)
    trainer = Trainer(settings, startup.name(settings), group)
    on_stop_signal(trainer.stop)
    trainer.run()


def follow(group: RankGroup) -> None:
    """Do what rank 0 orders. It alone is asked to end: then it lets this one go, after the unit in hand."""
    logs.configure()
    garbage.spare()
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    group.follow()


def joined(settings: Settings, environment: Mapping[str, str]) -> Ranks:
    """Return this process's place among those that torchrun started, or alone."""
    if "RANK" not in environment:
        return ALONE
    die_with_parent()  # a rank that outlives torchrun would hold leases beside the ranks that come next
    from hone.models.group import Group  # takes a second to load

    return Group.join(settings.trainer.device, STALL_S)
