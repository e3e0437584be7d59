"""Skills: at each turn the policy acts, or calls one named skill of a library. SelSkill, arXiv 2606.00510.

A call is a line `skill: NAME`. The skill's text is the next message; where the library has none the environment gets
the name as an action. For training, the harness plays turns of the finished episode again in both ways: `invoke`, an
answer that calls the skill, and `skip`, an answer that does not. How calls are written, and the retriever that names a
skill where the policy called none, are a reconstruction.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, StringConstraints

from hone.environments.contract import Message
from hone.harnesses.branching import Candidate, branches
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Answer, Heard, Over, Seat
from hone.text.conversation import content_text
from hone.text.keywords import overlap, words
from hone.text.reasoning import spoken

INSTRUCTIONS = "Instead of acting you may call a skill by a line of this form:\n{call} <name>\nSkills: {names}\n"
UNKNOWN = "There is no such skill."
Status: TypeAlias = Literal["completed", "invalid_call", "unmet_precondition"]
"""Of a call: the library lacks an invalid one; the environment did not execute one whose precondition is unmet."""
Said: TypeAlias = Heard | list[Message]
Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$", max_length=100)]


class SkillsParams(HarnessParams):
    """The library, how skills are called, and how many turns are branched."""

    library: dict[Name, str] = Field({}, description="Text of each skill by its name. A skill with an empty text is "
                                     "executed by the environment, which gets the name as an action.")
    call: str = Field("skill:", min_length=1, max_length=100, description="Text with which a line begins that calls a "
                      "skill; the name follows.")
    describe: bool = Field(True, description="Name the skills in a system message.")
    branches: int = Field(0, ge=0, le=64, description="Most turns of an episode from which both ways are played.")
    repeats: int = Field(1, ge=1, le=16, description="Times that each way is played from a turn.")
    tries: int = Field(8, ge=1, le=64, description="Most answers that are sampled to get an answer without the skill.")
    success: float = Field(1.0, gt=0, description="The environment's own score of an episode that succeeds.")
    retrieve: float = Field(0.3, ge=0, le=1, description="Smallest share of common words for which a skill is tried "
                            "where the policy called none; 0: always the best skill.")


@dataclass(frozen=True)
class Turn:
    """A finished turn: what it answered, what it said, the skill that it called, and what it led to."""

    said: Said
    answer: Answer
    skill: str | None
    acted: bool  # whether it took a step of the environment
    heard: Heard


@dataclass(frozen=True)
class Branch:
    """One repeat of a turn of the episode from which both ways are played."""

    turn: Turn
    skill: str
    invoked: bool  # whether the policy called it in the turn
    repeat: int

    async def fork(self, seat: Seat) -> Seat:
        """Return a seat in the state before the turn."""
        [fork] = await seat.fork(1, before=self.turn.answer.number)
        return fork

    def words(self, params: SkillsParams) -> str:
        """Return an answer that calls the skill: the policy's own, or else the bare call."""
        return self.turn.answer.text if self.invoked else f"{params.call} {self.skill}"

    def note(self, side: str) -> dict[str, Any]:
        return {"before": self.turn.answer.number, "side": side, "skill": self.skill, "invoked": self.invoked,
                "entropy": self.turn.answer.entropy, "repeat": self.repeat}


class Skills:
    """A turn without a call is one action. With `branches` the ended episode's turns are played again in both ways."""

    summary = "At each turn the policy acts, or calls a skill of a library, and reads the skill's text."
    params = SkillsParams
    kinds: ClassVar[frozenset[str]] = frozenset({"answer", "invoke", "skip"})

    async def play(self, seat: Seat, params: SkillsParams) -> None:
        turns = await _played(seat, params, _opening(params, seat), entropy=params.branches > 0)
        if turns:
            seat.note("outcome", _outcome(seat, params, turns))
        wanted = chosen(turns, params)
        skipped = await _skipping(seat, params, wanted) if wanted else []
        invoked = [(branch, await branch.fork(seat)) for branch, _, _ in skipped]
        if skipped:
            await seat.together(*(_skip(fork, params, branch, answer) for branch, fork, answer in skipped),
                                *(_invoke(fork, params, branch) for branch, fork in invoked))


def _opening(params: SkillsParams, seat: Seat) -> list[Message]:
    if not params.describe or not params.library:
        return seat.opening
    text = INSTRUCTIONS.format(call=params.call, names=", ".join(params.library))
    return [{"role": "system", "content": text}, *seat.opening]


async def _played(
    seat: Seat, params: SkillsParams, said: Said, answer: Answer | None = None, entropy: bool = False
) -> list[Turn]:
    """Play a seat to its end and return its turns. `answer` is the first one's, if it is made already."""
    turns = list[Turn]()
    with suppress(Over):
        while answer or not seat.over:
            turns.append(await _turn(seat, params, said, answer or await seat.ask(said, entropy=entropy)))
            said, answer = turns[-1].heard, None
    return turns


async def _turn(seat: Seat, params: SkillsParams, said: Said, answer: Answer) -> Turn:
    skill = called(answer.text, params)
    if skill is None:
        return Turn(said, answer, None, True, await seat.act(spoken(answer.text)))
    heard, status = await _executed(seat, params, skill)
    seat.note("skill", skill)
    seat.note("status", status)
    return Turn(said, answer, skill, params.library.get(skill) == "", heard)


async def _executed(seat: Seat, params: SkillsParams, skill: str) -> tuple[Heard, Status]:
    text = params.library.get(skill)
    if text is None:
        return Heard([{"role": "user", "content": UNKNOWN}], valid=False), "invalid_call"
    if text:
        return Heard([{"role": "user", "content": text}]), "completed"
    heard = await seat.act(skill)
    return heard, "completed" if heard.valid else "unmet_precondition"


def called(text: str, params: SkillsParams) -> str | None:
    """Return the skill that an answer calls, by its first line that calls one; None where it calls none."""
    lines = (line.strip() for line in spoken(text).splitlines())
    return next((line.removeprefix(params.call).strip()[:100] for line in lines if line.startswith(params.call)), None)


def chosen(turns: Sequence[Turn], params: SkillsParams) -> list[Branch]:
    """Return the branches of an episode: turns that called a skill, and others for which one is retrieved.

    What was called in the turn before is not retrieved.
    """
    found = dict[Candidate, str]()
    for place, turn in enumerate(turns if params.branches else ()):
        skill, invoked = turn.skill, turn.skill in params.library
        if not invoked:
            skill = retrieved(_text(turn.said), params.library, params.retrieve)
            skill = None if place and skill == turns[place - 1].skill else skill
        if skill is not None:
            found[Candidate(0, place, turn.answer.entropy or 0.0, invoked)] = skill
    return [Branch(turns[one.turn], found[one], one.invoked, repeat)
            for one in branches(found, params.branches) for repeat in range(params.repeats)]


def retrieved(text: str, library: Mapping[str, str], least: float) -> str | None:
    """Return the skill whose name and text have the largest share of words in common with a text; None below `least`.

    The share is of the smaller set of words. Of equal skills the first one.
    """
    def share(name: str) -> float:
        return overlap(asked, words(f"{name} {library[name]}"))

    asked = words(text)
    best = max(library, key=share, default=None)
    return best if best is not None and share(best) >= least else None


def _text(said: Said) -> str:
    messages = said.messages if isinstance(said, Heard) else said
    return "\n".join(content_text(one) for one in messages if one["role"] != "system")


async def _skipping(seat: Seat, params: SkillsParams, wanted: list[Branch]) -> list[tuple[Branch, Seat, Answer]]:
    """Return the branches with an answer that does not call their skill; without those for which there is none.

    Answers are sampled until one does not: so it is drawn as the policy draws where it does not call the skill.
    """
    found = list[tuple[Branch, Seat, Answer]]()
    for _ in range(params.tries):
        tried = [(branch, await branch.fork(seat)) for branch in wanted]
        answers = await seat.together(*(fork.ask(branch.turn.said, "skip") for branch, fork in tried))
        wanted = []
        for (branch, fork), answer in zip(tried, answers, strict=True):
            if answer is not None and called(answer.text, params) != branch.skill:
                found.append((branch, fork, answer))
            elif answer is not None:
                fork.note("refused", True)
                wanted.append(branch)
        if not wanted:
            break
    return found


async def _skip(fork: Seat, params: SkillsParams, branch: Branch, answer: Answer) -> None:
    fork.note("branch", branch.note("skip"))
    turns = await _played(fork, params, branch.turn.said, answer)
    _end(fork, params, turns, late_call=any(turn.skill == branch.skill for turn in turns[1:]))


async def _invoke(fork: Seat, params: SkillsParams, branch: Branch) -> None:
    answer = await fork.ask(branch.turn.said, "invoke", given=branch.words(params))
    fork.note("branch", branch.note("invoke"))
    _end(fork, params, await _played(fork, params, branch.turn.said, answer), late_call=False)


def _end(fork: Seat, params: SkillsParams, turns: Sequence[Turn], late_call: bool) -> None:
    """Note how a continuation ended; nothing where its environment did not come to its state again."""
    if fork.reason != "diverged":
        fork.note("outcome", {**_outcome(fork, params, turns), "late_call": late_call})


def _outcome(seat: Seat, params: SkillsParams, turns: Sequence[Turn]) -> dict[str, Any]:
    score = seat.facts.score
    return {"success": score is not None and score >= params.success, "steps": sum(turn.acted for turn in turns)}
