"""Self-verify's schedule, arXiv 2602.07594: the updates of each step, and the samples of each update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeAlias

from pydantic import Field

from hone.algorithms.method import Metrics, Params, State

Mode: TypeAlias = Literal["generate", "self_verify", "verify_init", "verify_alter", "mixed"]


@dataclass(frozen=True)
class PhaseInputs:
    """A step whose generation rollouts are complete."""

    step: int  # counted from 1
    prompts: int  # prompts of a generation batch
    items: Sequence[Any]  # built from this step's generation rollouts; plain JSON, such as their ids
    random: Random  # separate from the generation's randomness, which therefore does not change


@dataclass(frozen=True)
class Update:
    """One update: whether it trains the step's generation groups, and the items whose rollouts it trains."""

    generation: bool
    items: list[Any]


class PhaseParams(Params):
    """The order of updates of two independent objectives. Only the ratio of their updates weighs them."""

    mode: Mode = Field("verify_alter", description="Order of generation and verification updates.")
    interval: int = Field(5, ge=1, description="Steps between verification phases, in mode verify_alter.")
    looplen: int = Field(1, ge=1, description="Most batches of items in one phase, in mode verify_alter.")
    init_steps: int = Field(1000, ge=0, description="Steps of verification before generation, in mode verify_init.")

    def at(self, step: int) -> Mode:
        """Return the mode of a step. verify_init is self_verify for `init_steps` steps, then generate."""
        if self.mode != "verify_init":
            return self.mode
        return "self_verify" if step <= self.init_steps else "generate"


def phases(inputs: PhaseInputs, params: PhaseParams, state: State) -> tuple[list[Update], State, Metrics]:
    """Return the step's updates in order. The items of an update are sampled just before the update.

    generate: [generation]. self_verify: [items]. mixed: [generation and items].
    verify_alter: [generation]. When step mod interval = 0, also up to looplen updates of 2 floor(prompts / 2) items
    each from the shuffled buffer. The buffer is then emptied, and the step's own items enter it.
    State: {buffer}, the items of the steps since the last phase.
    """
    mode, items = params.at(inputs.step), list(inputs.items)
    if mode == "verify_alter":
        updates, buffer = _alternating(inputs, params, state.get("buffer", []))
        return updates, {"buffer": buffer}, _metrics(updates, buffer)
    choices: Mapping[Mode, Update] = {
        "generate": Update(True, []), "self_verify": Update(False, items), "mixed": Update(True, items)}
    chosen = choices[mode]
    updates = [chosen] if chosen.generation or chosen.items else []
    return updates, state, _metrics(updates, [])


def _alternating(inputs: PhaseInputs, params: PhaseParams, buffer: Sequence[Any]) -> tuple[list[Update], list[Any]]:
    if inputs.step % params.interval:
        return [Update(True, [])], [*buffer, *inputs.items]
    shuffled, size = inputs.random.sample(buffer, len(buffer)), 2 * (inputs.prompts // 2)
    batches = [shuffled[size * turn:size * (turn + 1)] for turn in range(params.looplen)]
    return [Update(True, []), *(Update(False, batch) for batch in batches if batch)], list(inputs.items)


def _metrics(updates: list[Update], buffer: list[Any]) -> Metrics:
    return {
        "generation_updates": float(sum(update.generation for update in updates)),
        "verification_updates": float(sum(bool(update.items) for update in updates)),
        "buffered_items": float(len(buffer)),
    }
