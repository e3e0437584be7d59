r"""Self-verify's items, arXiv 2602.07594: the answers of a generation batch become a balanced batch of judgements."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from pydantic import Field, field_validator

from hone.algorithms.method import Metrics, Params, State
from hone.graders.verdict import Label

_MANY = 0.5
_PROMPT = r"""You are a teacher. A student answered the question below. Judge whether the answer is correct.

Question:
{question}

Student's answer:
{judged}

Analyse the answer first. Then end with \boxed{Yes} if it is correct, or \boxed{No} if it is not."""
_PLACES = re.compile(r"\{(question|judged)\}")


@dataclass(frozen=True)
class GenerationGroup:
    """A prompt and its n rollouts, [n] each. The caller leaves out rollouts that failed through our own fault."""

    group_id: int
    prompt: str
    answers: Sequence[str]  # final answers, read only where valid
    outcomes: Sequence[float]  # correct from 0.5
    valid: Sequence[bool]  # an answer could be parsed
    responses: Sequence[str] = ()  # whole texts, read only where `judged` is `response`

    def rho(self) -> float:
        """Pass rate: correct rollouts / n, where n counts invalid ones too."""
        return sum(outcome >= 0.5 for outcome in self.outcomes) / len(self.outcomes)

    def places(self, correct: bool) -> list[int]:
        """Return the places of valid rollouts that are correct, or wrong. Raises ValueError when lengths differ."""
        rows = enumerate(zip(self.outcomes, self.valid, strict=True))
        return [place for place, (outcome, valid) in rows if valid and (outcome >= 0.5) == correct]


@dataclass(frozen=True)
class VerificationItem:
    """One prompt of the verification task; its rollouts are a group of their own."""

    prompt: str  # the user message
    label: Label
    rho: float  # pass rate of the source's prompt, in [0, 1]
    source: tuple[int, int]  # group id and place of the rollout that is judged


@dataclass(frozen=True)
class ItemInputs:
    """A generation batch, and the randomness of the items: of its own, so that generation's stays what it was."""

    groups: Sequence[GenerationGroup]
    random: Random


class ItemParams(Params):
    """What a judge is shown."""

    judged: Literal["answer", "response"] = Field("answer", description="The final answer only, or the whole text.")
    template: str = Field(
        _PROMPT, max_length=20_000, description="What a judge is asked: {question} and {judged} stand for both texts.")
    suffixes: list[str] = Field([
        r"Please reason step by step, and put your final answer within \boxed{}.",
        r"Let's think step by step and output the final answer within \boxed{}.",
    ], description="Texts at the end of a question that tell how to answer it: taken off.")

    @field_validator("template")
    @classmethod
    def _asks_about_both(cls, template: str) -> str:
        if set(_PLACES.findall(template)) != {"question", "judged"}:
            raise ValueError("expected a text with {question} and {judged}")
        return template


Candidate: TypeAlias = tuple[GenerationGroup, int]
Sides: TypeAlias = Mapping[Label, list[Candidate]]


def build_verification_items(
    inputs: ItemInputs, params: ItemParams, state: State
) -> tuple[list[VerificationItem], State, Metrics]:
    """half = floor(|P| / 2) items Yes and as many No, shuffled; P: prompts with a valid response.

    A prompt with mixed outcomes gives one item of each label, and one more of each to the pools that fill up to half;
    an all-correct one gives one to the pool of Yes, an all-wrong one nothing. Where a label cannot reach half, both
    are cut to the shorter. Raises ValueError when a group's lists differ in length.
    """
    asked = [group for group in inputs.groups if any(group.valid)]
    first, pool = _drawn(asked, inputs.random)
    filled: Sides = {label: _filled(first[label], pool[label], len(asked) // 2, inputs.random) for label in first}
    size = min(map(len, filled.values()))
    items = [_item(*candidate, label, params) for label in filled for candidate in filled[label][:size]]
    inputs.random.shuffle(items)
    return items, state, _metrics(items)


def _drawn(groups: Sequence[GenerationGroup], random: Random) -> tuple[Sides, Sides]:
    """Draw the first candidates of each label, and the pools that fill up."""
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
    """Fill up to `half` without replacement, then with replacement from the whole pool; shuffle, then cut."""
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


def verification_prompt(question: str, judged: str, params: ItemParams) -> str:
    """Return the user message that asks for a verdict on `judged`; the question loses its instruction's suffix."""
    question = question.rstrip()
    for suffix in params.suffixes:
        question = question.removesuffix(suffix).rstrip()
    texts = {"question": question, "judged": judged}
    return _PLACES.sub(lambda place: texts[place[1]], params.template)


def _metrics(items: list[VerificationItem]) -> Metrics:
    """Count items, the share that repeats another one's source, and 1 where that is more than half of them."""
    repeated = 1 - len({item.source for item in items}) / len(items) if items else 0.0
    return {"items": float(len(items)), "duplicate_share": repeated, "mostly_duplicates": float(repeated > _MANY)}
