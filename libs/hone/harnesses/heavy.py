"""Heavy thinking: several attempts beside each other, then deliberations that read them. HeavySkill, arXiv 2605.02396.

It plays any environment whose first answer ends the episode, trained or in an evaluation alone. Calls have the kinds
`attempt` and `deliberate`. Attempts of a group's samples are compared with each other, deliberations with those that
read the same attempts. The texts are a reconstruction.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field, field_validator

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams
from hone.harnesses.deliberation import Attempt, Strategy, prune, select
from hone.harnesses.seat import Seat
from hone.text.conversation import content_text
from hone.text.reasoning import spoken

ATTEMPT, DELIBERATE = "attempt", "deliberate"
INSTRUCTIONS = """{question}

{count} attempts at this task follow. Judge each one critically. Do not follow the majority blindly: if all attempts \
look wrong, work the answer out again. Then answer the task in its own form, without describing the attempts.

{attempts}"""


class HeavyParams(HarnessParams):
    """How many attempts and deliberations, and what a deliberation reads."""

    attempts: int = Field(8, ge=1, le=64, description="K, attempts that a deliberation reads.")
    pool: int | None = Field(None, ge=1, le=256, description="Attempts to choose from; null: as many as are read.")
    deliberations: int = Field(4, ge=1, le=64, description="K', parallel deliberations.")
    temperature: float | None = Field(
        None, ge=1e-3, description="Of deliberations, 0.7 in the paper; null: the run's, as training needs it.")
    rounds: int = Field(1, ge=1, le=8, description="Rounds of deliberation; each reads the answers of the round "
                        "before.")
    select: Strategy = Field("max_answer_num", description="Which attempts are read.")
    answer_after: str = Field("", max_length=200, description="An attempt's answer is the text after the last such "
                              "text; empty: its whole output.")
    characters: int = Field(200_000, ge=1, description="Most characters of all attempts together. Of longer attempts "
                            "the end is kept.")
    prompt: str = Field(INSTRUCTIONS, max_length=20_000, description="Prompt of a deliberation. {question}, "
                        "{attempts} and {count} are filled in.")
    merge: bool = Field(True, description="Show equal attempts once, with their number.")
    block: str = Field("Attempt {place}{times}:\n{text}\n", max_length=2000, description="How an attempt is written. "
                       "{place}, {times} and {text} are filled in.")

    @field_validator("prompt")
    @classmethod
    def _shows_both(cls, prompt: str) -> str:
        if "{question}" not in prompt or "{attempts}" not in prompt:
            raise ValueError("expected a text with {question} and {attempts}")
        return prompt


    @property
    def temperatures(self) -> Mapping[str, float]:
        return {} if self.temperature is None else {"temperature": self.temperature}


class Heavy:
    """Attempts, then deliberations over them. The last answer of the last round is the action."""

    summary = "Several parallel attempts, then deliberations that read all of them."
    params = HeavyParams
    kinds: ClassVar[frozenset[str]] = frozenset({ATTEMPT, DELIBERATE})

    async def play(self, seat: Seat, params: HeavyParams) -> None:
        pool = max(params.attempts, params.pool or 0)
        texts = await _beside(seat, pool, seat.opening, ATTEMPT, ATTEMPT)
        for number in range(params.rounds):
            asked = deliberation(seat.opening, texts, params, seat)
            texts = await _beside(seat, params.deliberations, asked, DELIBERATE, f"{seat.key}/{number}",
                                  params.temperature)
        await seat.act(texts[-1])


async def _beside(
    seat: Seat, count: int, said: Sequence[Message], kind: str, key: str, temperature: float | None = None
) -> list[str]:
    """Return the answers of a number of calls, without their reasoning."""
    async def one(fork: Seat) -> str:
        return spoken((await fork.ask(said, kind, group_key=key, temperature=temperature)).text)

    return list(await seat.together(*(one(fork) for fork in await seat.fork(count))))


def deliberation(opening: Sequence[Message], texts: Sequence[str], params: HeavyParams, seat: Seat) -> list[Message]:
    """Return the messages that a deliberation is asked: the opening, with the attempts in its last message."""
    found = [Attempt(place, _answer(text, params.answer_after), len(text)) for place, text in enumerate(texts)]
    chosen = [texts[one.id] for one in select(found, params.attempts, params.select, seat.random.getrandbits(32))]
    counted = list(Counter(chosen).items()) if params.merge else [(text, 1) for text in chosen]
    kept = ["".join(text) for text in prune([text for text, _ in counted], params.characters, "…")]
    blocks = [(text, times) for text, (_, times) in zip(kept, counted, strict=True)]
    seat.random.shuffle(blocks)
    shown = "".join(
        _filled(params.block, {"{place}": str(place), "{times}": _times(times), "{text}": text})
        for place, (text, times) in enumerate(blocks, start=1))
    *before, last = opening
    fields = {"{question}": content_text(last), "{count}": str(len(chosen)), "{attempts}": shown}
    return [*before, {"role": "user", "content": _filled(params.prompt, fields)}]


def _times(times: int) -> str:
    return f" (given {times} times)" if times > 1 else ""


def _answer(text: str, after: str) -> str | None:
    answer = text.rpartition(after)[2] if after and after in text else "" if after else text
    return answer.strip() or None


def _filled(template: str, fields: Mapping[str, str]) -> str:
    """Return a text with its fields. What is filled in is not filled again."""
    return re.sub("|".join(map(re.escape, fields)), lambda found: fields[found[0]], template)
