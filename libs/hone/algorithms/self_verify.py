r"""Self-verify, arXiv 2602.07594: judging the run's own answers is a second task, with steps of its own.

Items: the answers of a generation batch become a balanced set of judgements. Phases: the updates of each step, and the
samples of each update. A reconstruction: the number of batches that are sampled until items are balanced, where only
verdicts are trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeAlias

from pydantic import Field

from hone.algorithms.method import Metrics, Params, State
from hone.environments.verdict_form import JudgePrompt, Label, verification_prompt
from hone.graders.verdict import Wording

Mode: TypeAlias = Literal["generate", "self_verify", "verify_init", "verify_alter", "mixed"]

_MANY = 0.5


@dataclass(frozen=True)
class GenerationGroup:
    """A prompt and its n rollouts, [n] each. The caller leaves out masked rollouts."""

    group_id: int
    prompt: str
    answers: Sequence[str]  # final answers, used only where valid
    outcomes: Sequence[float]  # scaled to [0, 1] by the grader's range; an outcome of at least 0.5 is correct
    valid: Sequence[bool]  # whether an answer could be parsed
    responses: Sequence[str] = ()  # whole texts, used only where `judged` is `response`

    def rho(self) -> float:
        """Return the pass rate: correct rollouts / n, invalid ones included."""
        return sum(outcome >= 0.5 for outcome in self.outcomes) / len(self.outcomes)

    def places(self, correct: bool) -> list[int]:
        """Return the indices of valid rollouts that are correct, or wrong. Raises ValueError when lengths differ."""
        rows = enumerate(zip(self.outcomes, self.valid, strict=True))
        return [place for place, (outcome, valid) in rows if valid and (outcome >= 0.5) == correct]


@dataclass(frozen=True)
class VerificationItem:
    """One prompt of the verification task. Its rollouts are a group of their own."""

    prompt: str  # the user message
    label: Label
    rho: float  # pass rate of the source's prompt, in [0, 1]
    source: tuple[int, int]  # group id and index of the judged rollout


@dataclass(frozen=True)
class ItemInputs:
    """A generation batch, and the items' own randomness, so that the generation's does not change."""

    groups: Sequence[GenerationGroup]
    random: Random


class ItemParams(JudgePrompt, Params):
    """The prompt of a judge."""


Candidate: TypeAlias = tuple[GenerationGroup, int]
Sides: TypeAlias = Mapping[Label, list[Candidate]]


def build_verification_items(
    inputs: ItemInputs, params: ItemParams, state: State
) -> tuple[list[VerificationItem], State, Metrics]:
    """half = floor(|P| / 2) items Yes and as many No, shuffled; P: prompts with a valid response.

    A prompt with right and wrong answers gives one item of each label, and adds one more of each to the pools, which
    fill the batch up to half. A prompt with right answers only adds one to the pool of Yes. A prompt with wrong answers
    only gives nothing. Where a label cannot reach half, both labels are cut to the shorter one. Raises ValueError when
    a group's lists differ in length.
    """
    asked = [group for group in inputs.groups if any(group.valid)]
    first, pool = _drawn(asked, inputs.random)
    filled: Sides = {label: _filled(first[label], pool[label], len(asked) // 2, inputs.random) for label in first}
    size = min(map(len, filled.values()))
    items = [_item(*candidate, label, params) for label in filled for candidate in filled[label][:size]]
    inputs.random.shuffle(items)
    return items, state, _item_metrics(items)


def _drawn(groups: Sequence[GenerationGroup], random: Random) -> tuple[Sides, Sides]:
    """Draw the first candidates of each label, and the pools of further ones."""
    first: Sides = {"Yes": [], "No": []}
    pool: Sides = {"Yes": [], "No": []}
    for group in groups:
        places: Mapping[Label, list[int]] = {"Yes": group.places(True), "No": group.places(False)}
        if places["Yes"] and places["No"]:
            for label, some in places.items():
                one, *more = random.sample(some, min(2, len(some)))
                first[label].append((group, one))
                pool[label].extend((group, place) for place in more)
        elif places["Yes"]:
            pool["Yes"].append((group, random.choice(places["Yes"])))
    return first, pool


def _filled(first: list[Candidate], pool: list[Candidate], half: int, random: Random) -> list[Candidate]:
    """Fill up to `half` without replacement, then with replacement from the whole pool. Then shuffle and cut."""
    missing = max(0, half - len(first))
    fresh = random.sample(pool, min(missing, len(pool)))
    again = random.choices(pool, k=missing - len(fresh)) if pool else []
    candidates = [*first, *fresh, *again]
    random.shuffle(candidates)
    return candidates[:half]


def _item(group: GenerationGroup, place: int, label: Label, params: ItemParams) -> VerificationItem:
    judged = (group.answers if params.judged == "answer" else group.responses)[place]
    prompt = verification_prompt(group.prompt, judged, params)
    return VerificationItem(prompt, label, group.rho(), (group.group_id, place))


def _item_metrics(items: list[VerificationItem]) -> Metrics:
    """Return the number of items, the share of duplicates, and 1 where duplicates are more than half."""
    repeated = 1 - len({item.source for item in items}) / len(items) if items else 0.0
    return {"items": float(len(items)), "duplicate_share": repeated, "mostly_duplicates": float(repeated > _MANY)}


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
    interval: int = Field(5, ge=1, le=1000, description="Steps between verification phases, in mode verify_alter.")
    looplen: int = Field(1, ge=1, le=1000, description="Most batches of items in one phase, in mode verify_alter.")
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
        return updates, {"buffer": buffer}, _phase_metrics(updates, buffer)
    choices: Mapping[Mode, Update] = {
        "generate": Update(True, []), "self_verify": Update(False, items), "mixed": Update(True, items)}
    chosen = choices[mode]
    updates = [chosen] if chosen.generation or chosen.items else []
    return updates, state, _phase_metrics(updates, [])


def _alternating(inputs: PhaseInputs, params: PhaseParams, buffer: Sequence[Any]) -> tuple[list[Update], list[Any]]:
    if inputs.step % params.interval:
        return [Update(True, [])], [*buffer, *inputs.items]
    shuffled, size = inputs.random.sample(buffer, len(buffer)), 2 * (inputs.prompts // 2)
    batches = [shuffled[size * turn:size * (turn + 1)] for turn in range(params.looplen)]
    return [Update(True, []), *(Update(False, batch) for batch in batches if batch)], list(inputs.items)


def _phase_metrics(updates: list[Update], buffer: list[Any]) -> Metrics:
    return {
        "generation_updates": float(sum(update.generation for update in updates)),
        "verification_updates": float(sum(bool(update.items) for update in updates)),
        "buffered_items": float(len(buffer)),
    }


class SelfVerify(PhaseParams, ItemParams, Wording):
    """The order of the two tasks, the judge's prompt, and the form of a verdict.

    Every update is a step. `interval` and `init_steps` count batches of answers; a run's `steps` count all updates.
    """

    mode: Literal["verify_alter", "self_verify", "verify_init"] = Field(
        "verify_alter", description="Verification updates between the others; only those; or first those, then none.")
    max_batches: int = Field(
        8, ge=1, le=1000, description="Most batches of answers that are sampled for a step of mode self_verify, until "
        "some answers are right and some wrong.")

    def grader(self) -> dict[str, Any]:
        """Return the JSON of the grader of verdicts."""
        return {"type": "verdict", **{name: getattr(self, name) for name in Wording.model_fields}}
