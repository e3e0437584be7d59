"""Families of policies: toys that differ in the questions that they are taught or in size, and one that RL trains."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.value_model.questions import FAMILIES, MADE, MAX_TOKENS, Row, demonstrations

STEPS, EVERY, BATCH = 240, 60, 64
PROMPTS, SAMPLES = 32, 4
"""Held-out prompts of each family, and answers to each."""
_SHOWN = 9000
_CHAINS = 600
"""Demonstrations of the family whose questions take a millisecond to make."""


@dataclass(frozen=True)
class Taught:
    """A family of policies that demonstrations teach; its checkpoints are stages of one run."""

    asked: Sequence[str] = FAMILIES  # families of the questions that it is shown
    careless: float = 0.05  # share of the answers that are wrong
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        """Return the demonstrations, shuffled."""
        each = _SHOWN // len(self.asked)
        shown = [row for family in self.asked
                 for row in demonstrations(family, min(each, _CHAINS) if family == "chain" else each, self.careless, 0)]
        random.Random("shuffled").shuffle(shown)
        return shown

    def spec(self, name: str, base: str) -> dict[str, Any]:
        """Return the spec of the run that teaches it."""
        return {"name": name, "seed": 0, "model": {"base": base}, "task": {"dataset": f"shown-{name}"},
                "algorithm": "sft", "batch": {"prompts": BATCH, "samples": 1}, "steps": STEPS,
                "sampling": {"max_tokens": MAX_TOKENS}, "snapshot_every": EVERY, "eval": evaluation(EVERY),
                "optimizer": {"lr": 3e-3, "schedule_params": {"warmup_steps": 10}}}


def evaluation(every: int) -> dict[str, Any]:
    """Return how every checkpoint is graded."""
    sources = [{"name": family, **(MADE.get(family) or {"dataset": f"held-{family}"})} for family in FAMILIES]
    return {"prompts": PROMPTS, "samples": SAMPLES, "every": every, "sources": sources}


def reinforced(name: str, base: str) -> dict[str, Any]:
    """Return the spec of a run of GRPO that goes on from a taught policy."""
    return {"name": name, "seed": 0, "model": {"base": base}, "task": MADE["sort5"], "algorithm": "grpo",
            "batch": {"prompts": 16, "samples": 8}, "steps": 40, "sampling": {"max_tokens": MAX_TOKENS},
            "snapshot_every": 40, "eval": evaluation(20), "optimizer": {"lr": 3e-4}}


_ORDER, _COPIES = ("sort3", "sort5", "largest", "smallest"), ("copy", "reverse", "rest", "last")

POLICIES: Mapping[str, Taught] = {
    "order": Taught(_ORDER),
    "copies": Taught(_COPIES),
    "readers": Taught(("last", "largest", "smallest", "count", "parity")),
    "sums": Taught(("chain", "sum", "parity", "count")),
    "evens": Taught(FAMILIES[::2]),
    "odds": Taught(FAMILIES[1::2]),
    "careless": Taught((*_ORDER, *_COPIES), careless=0.5),
    "small": Taught((*_ORDER, *_COPIES), sizes={"hidden": 64, "heads": 2}),
}
"""Every taught family by name."""
FURTHER = {"reinforced": "evens"}
"""Families that GRPO trains on, and the family whose last checkpoint each starts from."""
