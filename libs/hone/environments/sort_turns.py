"""The demo's task in turns: say the digits of a number in order, one at a time. A wrong one costs a turn."""

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import Field

from hone.environments.contract import EpisodeOver, Message, Observation, Params, Row, Transition
from hone.environments.hashing import digest, splitmix


class SortTurnsParams(Params):
    """How hard it is."""

    digits: int = Field(5, ge=2, le=12, description="Digits to sort.")
    slack: int = Field(1, ge=0, le=100, description="Wrong answers that an episode has room for.")


@dataclass(frozen=True)
class _State:
    told: int = 0  # digits that stand in their places
    turns: int = 0


class SortTurns:
    """`s72051=` asks for `0`, is told `0=` and asks for `1` then; a wrong answer is told the same once more."""

    summary = "Sort the digits of a number, one a turn: s72051= asks for 0, and 0= then for 1."
    params = SortTurnsParams
    harness = "chat"
    columns: frozenset[str] | None = None
    foreign = False

    def messages(self, params: SortTurnsParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": f"s{_digits(params, seed)}="}]

    def content(self, params: SortTurnsParams, seed: int, item: Row | None) -> str:
        return _digits(params, seed)

    def episode(self, params: SortTurnsParams, seed: int, item: Row | None) -> "SortTurnsEpisode":
        return SortTurnsEpisode(self.messages(params, seed, item), params)


class SortTurnsEpisode:
    """One number being sorted."""

    def __init__(self, opening: list[Message], params: SortTurnsParams) -> None:
        self._opening, self._params, self._turns = opening, params, params.digits + params.slack
        self._answer = "".join(sorted(opening[0]["content"][1:-1]))
        self._state = _State()

    def reset(self) -> Observation:
        self._state = _State()
        return self._seen(self._opening)

    def step(self, action: str) -> Transition:
        state = self._state
        if self._done():
            raise EpisodeOver("the digits are sorted, or the turns used up")
        said = action.strip()
        right = said == self._answer[state.told]
        self._state = _State(state.told + right, state.turns + 1)
        told = [] if self._done() else [{"role": "user", "content": f"{self._answer[:self._state.told]}="}]
        valid = len(said) == 1 and said in self._answer
        return Transition(self._seen(told), self._done(), valid, effect=right)

    def snapshot(self) -> dict[str, Any]:
        return asdict(self._state)

    def restore(self, snapshot: dict[str, Any]) -> None:
        self._state = _State(**snapshot)

    def fork(self) -> "SortTurnsEpisode":
        other = SortTurnsEpisode(self._opening, self._params)
        other._state = self._state
        return other

    def state_hash(self) -> str:
        return digest({"answer": self._answer, "opening": self._opening, **asdict(self._state)})

    def verify(self) -> float | None:
        """1 when every digit stands in its place."""
        return float(self._state.told == len(self._answer))

    def _done(self) -> bool:
        return self._state.told == len(self._answer) or self._state.turns >= self._turns

    def _seen(self, said: list[Message]) -> Observation:
        item = {"prompt": self._opening[0]["content"], "answer": self._answer, "verified": self.verify()}
        return Observation(said, item, {"type": "environment"}, self._turns - self._state.turns, self.state_hash())


def _digits(params: SortTurnsParams, seed: int) -> str:
    return f"{splitmix(seed) % 10**params.digits:0{params.digits}d}"
