"""Assistants that follow a rule: what the spec's reference table is about. AMemGym, arXiv 2603.01966."""

import json
import random
from collections.abc import Sequence
from typing import Literal

from hone.remembering.phrases import pairs, plain_options
from hone.remembering.talks import Message

Rule = Literal["dictionary", "window", "forgetful", "stubborn"]
RULES: tuple[Rule, ...] = ("dictionary", "window", "forgetful", "stubborn")


class RuleAssistant:
    """Reads `name=value`, and keeps what its rule keeps. The rules are those of the spec's table.

    dictionary: the latest value of each variable. window: the last `kept` facts. forgetful: each fact is written with
    the chance `writes`. stubborn: the first value of each variable. A question of which it knows all values is answered
    right with the chance `uses`, else with another option; of one that it does not know it takes an option that agrees
    with what it knows, or any. How it guesses is ours.
    """

    def __init__(self, rule: Rule, seed: int, kept: int = 12, writes: float = 0.7, uses: float = 0.9) -> None:
        self._rule, self._seed, self._kept, self._writes, self._uses = rule, seed, kept, writes, uses
        self._facts, self._heard = list[tuple[str, str]](), 0

    def reset(self) -> None:
        self._facts, self._heard = [], 0

    def act(self, text: str) -> str:
        self._hear(text)
        return "I see."

    def add_msgs(self, messages: Sequence[Message]) -> None:
        for one in messages:
            if one["role"] == "user":
                self._hear(one["content"])

    def answer(self, text: str) -> str:
        names, options = plain_options(text)
        chance = random.Random(f"{self._seed} {self._heard} {text}")
        known = self._known()
        held = tuple(known.get(name) for name in names)
        if len(names) == 1 and held == (None,):
            return json.dumps({"answer": 0})
        agreeing = [place for place, one in enumerate(options)
                    if all(mine in (None, theirs) for mine, theirs in zip(held, one, strict=True))]
        place = chance.choice(agreeing or range(len(options)))
        if None not in held and len(names) > 1 and chance.random() >= self._uses:
            place = chance.choice([other for other in range(len(options)) if other != place])
        return json.dumps({"answer": place + 1})

    def save(self) -> bytes:
        return json.dumps([self._facts, self._heard]).encode()

    def load(self, state: bytes) -> None:
        facts, self._heard = json.loads(state)
        self._facts = [(name, value) for name, value in facts]

    def _known(self) -> dict[str, str]:
        return dict(reversed(self._facts)) if self._rule == "stubborn" else dict(self._facts)

    def _hear(self, text: str) -> None:
        for fact in pairs(text).items():
            self._heard += 1
            chance = random.Random(f"{self._seed} writes {self._heard}")
            if self._rule != "forgetful" or chance.random() < self._writes:
                self._facts.append(fact)
        if self._rule == "window":
            self._facts = self._facts[-self._kept:]
