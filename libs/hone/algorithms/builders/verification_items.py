r"""Self-verify's items, arXiv 2602.07594: turns the answers of a generation batch into a balanced set of judgements."""

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
    """A prompt and its n rollouts, [n] each. The caller leaves out masked rollouts."""

    group_id: int
    prompt: str
    answers: Sequence[str]  # final answers, used only where valid
    outcomes: Sequence[float]  # an outcome of at least 0.5 is correct
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


class ItemParams(Params):
    """The prompt of a judge."""

    judged: Literal["answer", "response"] = Field(
        "answer", description="Part that is judged: the final answer or the whole text.")
    template: str = Field(
        _PROMPT, max_length=20_000, description="The prompt; {question} and {judged} are replaced by both texts.")
    suffixes: list[str] = Field([
        r"Please reason step by step, and put your final answer within \boxed{}.",
        r"Let's think step by step and output the final answer within \boxed{}.",
    ], description="Instructions at the end of a question, which are removed.")

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
    return items, state, _metrics(items)


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


def verification_prompt(question: str, judged: str, params: ItemParams) -> str:
    """Return the user message that asks for a verdict on `judged`, without suffixes of the question."""
    question = question.rstrip()
    for suffix in params.suffixes:
        question = question.removesuffix(suffix).rstrip()
    texts = {"question": question, "judged": judged}
    return _PLACES.sub(lambda place: texts[place[1]], params.template)


def _metrics(items: list[VerificationItem]) -> Metrics:
    """Return the number of items, the share of duplicates, and 1 where duplicates are more than half."""
    repeated = 1 - len({item.source for item in items}) / len(items) if items else 0.0
    return {"items": float(len(items)), "duplicate_share": repeated, "mostly_duplicates": float(repeated > _MANY)}
