"""The demo's task in turns: write the digits of a number in order, one a turn. A wrong digit costs a turn.

Rules may grade turns: three rules of DuCA (arXiv 2603.01481), and one of Hone. A rule scores a turn 0, or -1 where

    length      the turn is not exactly one character
    compliance  the turn contains a character that is no digit of the number
    repetition  the turn repeats a wrong answer to the same digit (the whole answer is one token of the rule)
    right       the turn is not the next digit (Hone's rule)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from hone.environments import turn_rules
from hone.environments.contract import EnvironmentParams, EpisodeOver, Message, Observation, Row, Transition
from hone.environments.hashing import digest, splitmix
from hone.spec.snapshots import WrongSnapshot, fields_of

Rule = Literal["length", "compliance", "repetition", "right"]


class SortTurnsParams(EnvironmentParams):
    """The difficulty, and the rules that grade turns."""

    digits: int = Field(5, ge=2, le=12, description="Number of digits to sort.")
    slack: int = Field(1, ge=0, le=100, description="Wrong answers after which the digits can still be sorted.")
    rules: dict[Rule, Annotated[float, Field(ge=0, le=1000)]] = Field(
        default_factory=dict, description="Rules that grade each turn, with their weights: its reward is the weighted "
        "sum.")


@dataclass(frozen=True)
class _SortingState:
    placed: int = 0  # digits that were answered correctly
    turns: int = 0
    tries: tuple[str, ...] = ()  # wrong answers to the present digit, kept for the rule `repetition`


class SortTurns:
    """`s72051=` asks for `0`. The answer `0=` then asks for `1`. After a wrong digit the question is repeated."""

    summary = "Sort the digits of a number, one a turn: s72051= asks for 0, and 0= then for 1."
    params = SortTurnsParams
    harness = "chat"
    columns: frozenset[str] | None = None
    asked_roles: frozenset[str] = frozenset()
    example_params: ClassVar[Mapping[str, Any]] = {"digits": 4}
    foreign = False

    def rules(self, params: SortTurnsParams) -> dict[str, float]:
        return _weights(params)

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
        self._answer, self._weights = "".join(sorted(opening[0]["content"][1:-1])), _weights(params)
        self._state = _SortingState()

    def reset(self) -> Observation:
        self._state = _SortingState()
        return self._seen(self._opening)

    def step(self, action: str) -> Transition:
        state = self._state
        if self._done():
            raise EpisodeOver("the digits are sorted, or the turns used up")
        said = action.strip()
        right = said == self._answer[state.placed]
        scores = self._scores(said, right)
        self._state = _SortingState(state.placed + right, state.turns + 1, self._wrong(said, right))
        messages = [] if self._done() else [{"role": "user", "content": f"{self._answer[:self._state.placed]}="}]
        valid = len(said) == 1 and said in self._answer
        return Transition(self._seen(messages), self._done(), valid, self._paid(scores), effect=right, rules=scores)

    def snapshot(self) -> dict[str, Any]:
        state = self._state
        tries = {"tries": state.tries} if state.tries else {}
        return {"told": state.placed, "turns": state.turns, **tries}  # keys of stored state hashes

    def restore(self, snapshot: dict[str, Any]) -> None:
        given = fields_of(snapshot, {"told": int, "turns": int, "tries": tuple[str, ...]}, optional=["tries"])
        if given["told"] > len(self._answer):
            raise WrongSnapshot("told", given["told"], f"at most {len(self._answer)}, the digits of the task")
        self._state = _SortingState(given["told"], given["turns"], given.get("tries", ()))

    def fork(self) -> "SortTurnsEpisode":
        other = SortTurnsEpisode(self._opening, self._params)
        other._state = self._state
        return other

    def state_hash(self) -> str:
        return digest({"answer": self._answer, "opening": self._opening, **self.snapshot()})

    def verify(self) -> float | None:
        """Return 1 when all digits were answered, else 0."""
        return float(self._state.placed == len(self._answer))

    def _scores(self, said: str, right: bool) -> dict[str, float]:
        """Return the score, at most 0, of each rule that grades."""
        scores = {
            "length": turn_rules.length(len(said), 1, 1),
            "compliance": turn_rules.compliance(said, [f"[^{self._answer}]"], []),
            "repetition": turn_rules.repetition([[each] for each in (*self._state.tries, said)], n=1)[-1],
            "right": float(right) - 1,
        }
        return {rule: scores[rule] for rule in self._weights}

    def _wrong(self, said: str, right: bool) -> tuple[str, ...]:
        """Return the wrong answers to the present digit after this turn; () where no rule reads them."""
        return (*self._state.tries, said) if "repetition" in self._weights and not right else ()

    def _paid(self, scores: dict[str, float]) -> float | None:
        if not scores:
            return None
        [paid] = turn_rules.turn_rewards({rule: [score] for rule, score in scores.items()}, self._weights)
        return paid

    def _done(self) -> bool:
        return self._state.placed == len(self._answer) or self._state.turns >= self._turns

    def _seen(self, said: list[Message]) -> Observation:
        item = {"prompt": self._opening[0]["content"], "answer": self._answer, "verified": self.verify()}
        return Observation(said, item, {"type": "environment"}, self._turns - self._state.turns, self.state_hash())


def _weights(params: SortTurnsParams) -> dict[str, float]:
    return dict(params.rules.items())


def _digits(params: SortTurnsParams, seed: int) -> str:
    return f"{splitmix(seed) % 10**params.digits:0{params.digits}d}"
