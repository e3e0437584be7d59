"""One of two ranks, as torchrun's variables say. RANKED holds as JSON what it does, the directory, and stall_s.

play    every case; its figures and files lie in a folder of its name below the directory, where rank 0 writes them.
        Then the cases of TILES, below "<directory> in tiles": as with a vocabulary whose logits do not fit in memory
ask     log-probabilities, again and again until a rank is lost; the file `begun` says that it has begun
rest    the same, and rank 1 stops before it takes its fourth call
"""

import json
import os
import signal
from itertools import count
from pathlib import Path

import torch

from hone.models import policy, toy
from hone.models.distributed_ranks import DistributedRanks
from hone.models.ranks import Ranks
from services.learner.trainer.rank_group import RankGroup
from tests.integration.learner.ranked import CASES, OPTIMIZER, SEQUENCES, play_all, play_in_tiles, start

TILE = 12
"""Positions whose logits fit in memory together: fewer than a micro-batch has."""


def ask(group: RankGroup, directory: Path) -> None:
    """Ask until a rank is lost."""
    learner = group.learner(start(CASES["ragged"]), OPTIMIZER, 40)
    while learner.logprobs(SEQUENCES):
        (directory / "begun").touch()


def stand_still(ranks: Ranks, orders: int) -> None:
    """Let this rank stop between two orders: before it takes the one after so many."""
    take, taken = ranks.broadcast, count()

    def broadcast(message: bytes) -> bytes:
        if next(taken) == orders:
            os.kill(os.getpid(), signal.SIGSTOP)
        return take(message)

    ranks.broadcast = broadcast  # type: ignore[method-assign]


def main() -> None:
    """Do it as rank 0, or follow it."""
    torch.set_num_threads(1)
    work, where, stall_s = json.loads(os.environ["RANKED"])
    directory, group = Path(where), RankGroup(DistributedRanks.join("cpu", stall_s))
    if group.ranks.rank and work == "rest":
        stand_still(group.ranks, 3)
    for part in (play_all, play_in_tiles) if work == "play" else (ask,):
        if part is play_in_tiles:
            policy._LOGITS_AT_ONCE = TILE * len(toy.SYMBOLS)
        if group.ranks.rank:
            group.follow()
        else:
            part(group, directory)
            group.end()


if __name__ == "__main__":
    main()
