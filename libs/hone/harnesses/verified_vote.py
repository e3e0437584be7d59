"""Several answers, the policy's own verdicts on each different one, and a vote: self-verify, arXiv 2602.07594.

It is for evaluations of tasks of one answer. Calls have the kinds `answer`, `verdict` and `chosen`; the chosen answer
is given and not sampled again.
"""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from hone.environments.contract import Message
from hone.environments.verdict_form import JudgePrompt, Label, VerdictForm, boxed_answer, verification_prompt
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Seat
from hone.harnesses.voting import voted
from hone.text.conversation import content_text
from hone.text.reasoning import spoken

ANSWER, VERDICT, CHOSEN = "answer", "verdict", "chosen"


class VerifiedVoteParams(HarnessParams, JudgePrompt, VerdictForm):
    """How many answers and verdicts, how an answer is found, and how a verdict is asked for and written."""

    n: int = Field(8, ge=1, le=64, description="Answers to each task.")
    m: int = Field(8, ge=1, le=64, description="Verdicts on each different answer.")
    answer_after: str = Field("", max_length=200, description="The answer is the text after the last such text; "
                              "empty: the content of the last \boxed{} of the last 300 characters, or else all that "
                              "was said.")
    verdict_tokens: int | None = Field(None, ge=1, description="Most tokens of a verdict; null: the sampling's.")


class VerifiedVote:
    """The answer with the largest count times share of verdicts Yes is the action."""

    summary = "Several answers, the policy's own verdicts on each different answer, and a vote weighted by them."
    params = VerifiedVoteParams
    kinds: ClassVar[frozenset[str]] = frozenset({ANSWER, VERDICT, CHOSEN})
    evaluates: ClassVar[bool] = True  # alone: no step may train on it

    async def play(self, seat: Seat, params: VerifiedVoteParams) -> None:
        texts = await _answers(seat, params)
        found = [_found(text, params) for text in texts]
        said = dict(reversed(list(zip(found, texts, strict=True))))  # the first text with each answer
        verdicts = await _verdicts(seat, {answer: said[answer] for answer in dict.fromkeys(found) if answer}, params)
        vote = voted(found, verdicts)
        chosen = await seat.ask(seat.opening, CHOSEN, given=said[vote.winner])
        seat.note("vote", {"scores": dict(vote.scores), "majority": vote.majority, "winner": vote.winner})
        await seat.act(chosen.text)


async def _answers(seat: Seat, params: VerifiedVoteParams) -> list[str]:
    async def one(fork: Seat) -> str:
        return (await fork.ask(seat.opening, ANSWER, group_key=ANSWER)).text

    texts = await seat.together(*(one(fork) for fork in await seat.fork(params.n)))
    return [text or "" for text in texts]


async def _verdicts(
    seat: Seat, judged: dict[str, str], params: VerifiedVoteParams
) -> dict[str, list[Label | None]]:
    """Return the verdicts on each answer, given with its whole text. One that has no room is none."""
    question = content_text(seat.opening[-1])

    async def one(fork: Seat, asked: list[Message], answer: str) -> Label | None:
        said = await fork.ask(asked, VERDICT, tools=[], group_key=f"{seat.key}/{answer}",
                              max_tokens=params.verdict_tokens)
        return params.read(spoken(said.text))

    forks = await seat.fork(params.m * len(judged)) if judged else []
    plays = []
    for place, (answer, text) in enumerate(judged.items()):
        about = answer if params.judged == "answer" else spoken(text) or text
        asked: list[Message] = [{"role": "user", "content": verification_prompt(question, about, params)}]
        plays += [one(fork, asked, answer) for fork in forks[place * params.m:(place + 1) * params.m]]
    found: Sequence[Label | None] = await seat.together(*plays) if plays else []
    return {answer: list(found[place * params.m:(place + 1) * params.m]) for place, answer in enumerate(judged)}


def _found(text: str, params: VerifiedVoteParams) -> str | None:
    """Return the answer in a text, as training finds it for a judge where no grader extracts it; None without one."""
    said = spoken(text)
    if params.answer_after:
        return said.rpartition(params.answer_after)[2].strip() or None if params.answer_after in said else None
    return boxed_answer(said) or said.strip() or None
