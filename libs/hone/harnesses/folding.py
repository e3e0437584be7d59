"""Folding: the policy names a subgoal, works on it, judges whether it is finished, and keeps one record of it.

HIPIF, arXiv 2606.10507. Each step of the environment is one call with four fields, the third one only where a subgoal
begins; the fields, and what is shown where the context has no room, are a reconstruction:

    reflect: the mug is in the cupboard now
    done: 1
    subgoal: heat a potato
    action: go to fridge 1

Of a finished subgoal the policy sees its name and what the environment said last; `fold: false` shows every step.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from hone.environments.contract import Entities, Message
from hone.harnesses.contract import HarnessParams
from hone.harnesses.penalties import Sizes, SubgoalStep, process_rewards
from hone.harnesses.seat import Answer, Heard, Seat
from hone.text.conversation import content_text
from hone.text.reasoning import spoken

INSTRUCTIONS = """Work on one subgoal at a time. Answer with these lines:
reflect: <whether the subgoal is finished, and why>
done: <1 if it is finished, else 0>
subgoal: <the next subgoal; only if there is none yet, or it is finished>
action: <one action>
"""
DECIDE = "Now decide."
_NAMED = re.compile(
    r"reflect:(?P<reflect>(?:(?!\n(?:done|subgoal|action):).)*)\ndone:[ \t]*(?P<done>[01])[ \t]*"
    r"(?:\nsubgoal:(?P<subgoal>[^\n]*))?\naction:(?P<action>[^\n]*)", re.DOTALL)
Pairs = Sequence[tuple[str, str]]
"""Actions, each with what the environment said after it."""


class FoldingParams(HarnessParams):
    """Shown part of finished subgoals, and the loss of steps by rules."""

    fold: bool = Field(True, description="Show a single record of a finished subgoal; false: all of its steps.")
    describe: bool = Field(True, description="Describe the four fields in a system message.")
    two_calls: bool = Field(False, description="Reflect in a call of its own, before subgoal and action.")
    success: float = Field(1.0, gt=0, description="The environment's own score of an episode that succeeds.")
    penalties: Sizes = Field(Sizes(), validate_default=True, description="Loss of score by rule. The sum "
                             "is less than `success`: no step of a failure is worth more than a step of a success.")

    @field_validator("penalties")
    @classmethod
    def _less_than_success(cls, sizes: Sizes, given: ValidationInfo) -> Sizes:
        success = given.data.get("success", 1.0)
        if sizes.most >= success:
            raise ValueError(f"penalties with a sum below success, {success:g}")
        return sizes


@dataclass(frozen=True)
class Fields:
    """Content of an output."""

    reflect: str
    done: bool
    subgoal: str | None
    action: str


@dataclass(frozen=True)
class Story:
    """The policy's view: its task, finished subgoals, the present subgoal and its steps, the last observation."""

    task: str
    now: str
    subgoal: str | None = None
    local: Pairs = ()
    finished: Sequence[tuple[str, str]] = ()  # subgoals, each with the observation at which it was judged finished
    past: Sequence[Pairs] = ()  # the steps of each of them

    def begun(self, subgoal: str) -> "Story":
        """Fold the present subgoal, if there is one, and begin another."""
        if self.subgoal is None:
            return replace(self, subgoal=subgoal)
        return replace(self, subgoal=subgoal, local=(), finished=[*self.finished, (self.subgoal, self.now)],
                       past=[*self.past, self.local])

    def went_on(self, action: str, observation: str) -> "Story":
        return replace(self, local=[*self.local, (action, observation)], now=observation)


class Folding:
    """Each output is one action. Rules take something from outputs; one rule waits for the end of the episode."""

    summary = "Work subgoal by subgoal: of a finished subgoal only its name and last observation are kept."
    params = FoldingParams
    kinds: ClassVar[frozenset[str]] = frozenset({"step", "reflect", "act"})

    async def play(self, seat: Seat, params: FoldingParams) -> None:
        *task, first = seat.opening if len(seat.opening) > 1 else [*seat.opening, {"role": "user", "content": ""}]
        story, steps = Story(_text(task), _text([first])), list[tuple[str, SubgoalStep]]()
        try:
            while not seat.over:
                answer, fields = await _asked(seat, params, story)
                folded = story.subgoal is not None and fields is not None and fields.done
                if fields is not None and fields.subgoal is not None:
                    story = story.begun(fields.subgoal)
                seat.note("folding", {"k": len(story.finished) + (story.subgoal is not None), "j": len(story.local),
                                      "subgoal": story.subgoal, "folded": folded, "parsed": fields is not None})
                heard = await seat.act(fields.action if fields else "")
                said = _text(heard.messages)
                story = story.went_on(fields.action, said) if fields else replace(story, now=said)
                steps.append((answer.number, _record(fields, said, heard, folded)))
        finally:
            _pay(seat, params, steps)


def parsed(text: str, first: bool) -> Fields | None:
    """Return the fields of an output; None where they are others than the protocol's.

    `first`: there is no subgoal yet, so that one is needed and none can be finished.
    """
    found = _NAMED.fullmatch(text.strip())
    if found is None:
        return None
    done = found["done"] == "1" and not first
    action, subgoal = found["action"].strip(), found["subgoal"] and found["subgoal"].strip()
    if not action or subgoal == "" or (subgoal is not None) != (done or first):
        return None
    return Fields(found["reflect"].strip(), done, subgoal, action)


def render(story: Story, fold: bool = True, bare: int = 0) -> str:
    """Return the text that the policy sees. The oldest `bare` records are shown without their observation."""
    return "\n".join(filter(None, _lines(story, fold, bare)))


def _lines(story: Story, fold: bool, bare: int) -> Iterator[str]:
    yield story.task
    for place, ((subgoal, end), pairs) in enumerate(zip(story.finished, story.past, strict=True)):
        yield f"Finished: {subgoal}"
        yield from (end if place >= bare else "",) if fold else _steps(pairs)
    if story.subgoal is not None:
        yield f"Subgoal: {story.subgoal}"
    yield from _steps(story.local)
    if not story.local or story.local[-1][1] != story.now:
        yield story.now


def _steps(pairs: Pairs) -> Iterator[str]:
    for action, observation in pairs:
        yield f"> {action}\n{observation}"


async def _asked(seat: Seat, params: FoldingParams, story: Story) -> tuple[Answer, Fields | None]:
    """Return the call that reflected, and the fields of the step."""
    cuts = range(len(story.finished) + 1 if params.fold else 1)
    said, *shorter = [_messages(render(story, params.fold, bare), params) for bare in cuts]
    answer = await seat.ask(said, "reflect" if params.two_calls else "step", shorter=shorter)
    text = spoken(answer.text)
    if params.two_calls:
        decided = await seat.ask(Heard([{"role": "user", "content": DECIDE}]), "act")
        text = f"{text.strip()}\n{spoken(decided.text).strip()}"
    return answer, parsed(text, story.subgoal is None)


def _messages(text: str, params: FoldingParams) -> list[Message]:
    described = [{"role": "system", "content": INSTRUCTIONS}] if params.describe else []
    return [*described, {"role": "user", "content": text}]


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(content_text(one) for one in messages).strip()


def _record(fields: Fields | None, said: str, heard: Heard, folded: bool) -> SubgoalStep:
    changed = heard.valid and heard.effect is not False
    if fields is None:
        return SubgoalStep(None, said, executable=False, effect=changed)
    return SubgoalStep(fields.action, said, heard.valid, changed, fields.subgoal, folded)


def _pay(seat: Seat, params: FoldingParams, steps: Sequence[tuple[str, SubgoalStep]]) -> None:
    """Give each step's call what the rules that are on take from it."""
    names, score = seat.facts.entities or Entities([], None), seat.facts.score
    succeeded = score is not None and score >= params.success
    taken = process_rewards(
        [step for _, step in steps], names.lexicon or (), names.present, succeeded, params.penalties)
    for rule, values in taken.items():
        for (call, _), value in zip(steps, values, strict=True):
            if getattr(params.penalties, rule):
                seat.penalty(rule, value, call)
