"""Parts of a fit that a model adds: hypotheses for mining, and the rules' sentences. Each answer is checked first.

An answer that fails is shown to the model again with what is wrong, a bounded number of times. Then it is left out: a
fit never waits for a model to be right.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from hone.audiences import hypotheses, wording
from hone.audiences.decision_policies import Condition, DecisionPolicy
from hone.audiences.hypotheses import ContrastedPairs, Proposed
from hone.audiences.reasoning import Prompt, Writer

MOST_ASKED = 3
"""Answers to one prompt, before it counts as one without a readable answer."""
_SAID = 5  # complaints of a report

Read = TypeVar("Read")


@dataclass(frozen=True)
class Answered(Generic[Read]):
    """The answer that counts, or None, and the complaint about the last one; "" where there is none."""

    value: Read | None
    complaint: str
    asked: int


async def answered(
    writer: Writer, prompts: Sequence[Prompt], read: Sequence[Callable[[str], tuple[Read | None, str]]],
) -> list[Answered[Read]]:
    """Return the answer to each prompt, as its reader takes it: a value, or None and the reason."""
    found: list[Answered[Read]] = [Answered(None, "", 0)] * len(prompts)
    asked, open_ones = list(prompts), list(range(len(prompts)))
    for number in range(1, MOST_ASKED + 1):
        if not open_ones:
            break
        texts = await writer.write([asked[place] for place in open_ones])
        for place, text in zip(open_ones, texts, strict=True):
            value, complaint = read[place](text)
            found[place] = Answered(value, complaint, number)
            asked[place] = _again(prompts[place], text, complaint)
        open_ones = [place for place in open_ones if found[place].value is None]
    return found


def _again(prompt: Prompt, text: str, complaint: str) -> Prompt:
    return replace(prompt, messages=[
        *prompt.messages, {"role": "assistant", "content": text[:4000] or "(nothing)"},
        {"role": "user", "content": f"This cannot be used: {complaint}. Answer again."}])


async def proposed(writer: Writer, pairs: Sequence[ContrastedPairs]) -> tuple[list[Condition], dict[str, Any]]:
    """Return the conditions that a model proposes for each step, and a report. A bad one does not spoil the others."""
    found = await answered(writer, [one.prompt for one in pairs], [_reader(one) for one in pairs])
    read = [one.value for one in found if one.value is not None]
    conditions = list(dict.fromkeys(condition for one in read for condition in one.conditions))
    wrong = [complaint for one in read for complaint in one.refused] + [
        one.complaint for one in found if one.value is None]
    return conditions, {"asked": sum(one.asked for one in found), "proposed": len(conditions), "refused": len(wrong),
                        "complaints": wrong[:_SAID]}


def _reader(pairs: ContrastedPairs) -> Callable[[str], tuple[Proposed | None, str]]:
    def read(text: str) -> tuple[Proposed | None, str]:
        found = hypotheses.read(text, pairs.ranges)
        usable = found.read and (found.conditions or not found.refused)
        return (found, "") if usable else (None, "; ".join(found.refused[:_SAID]))

    return read


async def worded(
    writer: Writer, policies: Sequence[DecisionPolicy],
) -> tuple[list[DecisionPolicy], dict[str, Any]]:
    """Return policies with the sentences that a model wrote of them, and a report; one without keeps its record's."""
    found = await answered(writer, [wording.prompt(one) for one in policies], [_sentence(one) for one in policies])
    made = [policy.model_copy(update={"words": one.value or ""}) for policy, one in zip(policies, found, strict=True)]
    wrong = Counter(one.complaint for one in found if one.value is None)
    return made, {"asked": sum(one.asked for one in found), "written": sum(bool(one.words) for one in made),
                  "refused": sum(wrong.values()), "complaints": [one for one, _ in wrong.most_common(_SAID)]}


def _sentence(policy: DecisionPolicy) -> Callable[[str], tuple[str | None, str]]:
    def read(text: str) -> tuple[str | None, str]:
        said, wrong = wording.read(text, policy)
        return said or None, wrong

    return read
