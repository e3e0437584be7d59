"""A user whose state keeps changing, over months of evenings: what does the assistant remember? AMemGym, 2603.01966.

A period is some sessions, each an opener that exposes values and further rounds, and then probes. Lives are drawn from
seeds, which is ours, or a row holds one that a model wrote, as in the paper. The words are the life's own, or a model's
that is asked in the role `user` and whose words are checked against the life. The probes of a period come all at once,
and each is answered by one action. Messages have a `name` for the harness `remembering`, which keeps probes out of the
history: `opener`, `question`, `diagnosis`, `upper` and `result`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from hone.environments.contract import (
    Ask,
    EnvironmentParams,
    EpisodeFailed,
    EpisodeOver,
    Message,
    Observation,
    Row,
    Transition,
    WrongParams,
)
from hone.environments.hashing import digest
from hone.environments.written_lives.rows import life_in
from hone.remembering import talks
from hone.remembering.examination import Examination, read_number
from hone.remembering.generator import life
from hone.remembering.lives import Life, Sizes
from hone.remembering.phrases import PHRASES, Manner
from hone.remembering.scores import PeriodResult, report
from hone.remembering.speech import USER, Turn, fault, prompt
from hone.spec.snapshots import fields_of


class ChangingUserParams(EnvironmentParams):
    """How large a life is, how the user speaks, and what is measured."""

    life: Sizes = Field(Sizes(), description="Sizes of the user's life; of a written life only its rounds are read.")
    words: Manner = Field("english", description="english: sentences. plain: `city=Rome`, for tiny models.")
    speech: Literal["scripted", "model"] = Field(
        "scripted", description="Who finds the user's words: templates or the row, or the model of the role user. "
        "Probes are always scripted.")
    most_retries: int = Field(2, ge=0, le=10, description="How often that model is asked again for words that do not "
                              "agree with the user's life. Then the sample is masked.")
    measure_upper: bool = Field(False, description="Ask each question once more after the values that it needs, once "
                                "for each state of them: the upper bound of the memory score. false: it is 1.")
    results: bool = Field(True, description="Send the harness what the probes of a period showed, so that it can pay "
                          "what was written. `remembering` shows none of it to a policy but in the feedback of "
                          "awi-evolve; any other harness would.")


class ChangingUser:
    """A row has a written life, or a recorded talk: `replies`, one for each round; then nothing is said, off-policy."""

    summary = "A user whose state changes from period to period. Questions after each show how much is remembered."
    params = ChangingUserParams
    harness = "remembering"
    columns: frozenset[str] | None = frozenset()  # `life` or `replies`, or both
    asked_roles = frozenset({USER})
    foreign = False

    def rules(self, params: ChangingUserParams) -> dict[str, float]:
        return {}

    def messages(self, params: ChangingUserParams, seed: int, item: Row | None) -> list[Message]:
        return self.episode(params, seed, item).reset().messages

    def content(self, params: ChangingUserParams, seed: int, item: Row | None) -> dict[str, Any]:
        one = self.episode(params, seed, item).world
        replies = {} if one.replies is None else {"replies": [*one.replies]}
        return {"life": one.hash, "words": params.words, **replies}

    def episode(self, params: ChangingUserParams, seed: int, item: Row | None) -> "ChangingUserEpisode":
        if item is None:
            return ChangingUserEpisode(ChangingWorld(life(params.life, seed, PHRASES[params.words]), params, seed))
        if params.speech == "model":
            raise WrongParams("speech", params.speech, "scripted, because the row brings a talk or the user's words")
        drawn, written = _integer(item, seed), item.get("life") is not None
        if written and params.words != "english":
            raise WrongParams("words", params.words, "english, because the row brings a written life")
        made = life_in(item["life"]) if written else life(params.life, drawn, PHRASES[params.words])
        replies = None if written and item.get("replies") is None else _replies(item, made, params.life)
        return ChangingUserEpisode(ChangingWorld(made, params, drawn, replies, written))


@dataclass(frozen=True)
class ChangingWorld:
    """All that an episode follows from, beside the actions."""

    life: Life
    params: ChangingUserParams
    seed: int
    replies: tuple[str, ...] | None = None  # recorded ones, of all rounds; None: the policy replies
    written: bool = False  # whether a row brought the life

    @cached_property
    def hash(self) -> str:
        """Hash of the user's life."""
        return digest(asdict(self.life))

    @cached_property
    def rounds(self) -> list[list[Message]]:
        """Words of the user, a message for each round, by period."""
        return [_rounds(self, t) for t in range(len(self.life.periods))]

    @cached_property
    def turns(self) -> list[list[Turn]]:
        """The same rounds as turns that a model finds words for."""
        sizes = self.params.life
        return [[Turn(session, later > 0) for session in period.sessions
                 for later in range(sizes.rounds if t else sizes.first_rounds)]
                for t, period in enumerate(self.life.periods)]

    @cached_property
    def actions(self) -> int:
        """How many actions of the policy an episode takes."""
        spoken = sum(map(len, self.rounds)) if self.replies is None else 0
        questions = self.life.questions
        uppers = len({(place, one.golden(state)) for place, one in enumerate(questions) for state in self.life.states})
        probes = len(self.life.periods) * (len(questions) + len(self.life.schema))
        return spoken + probes + (uppers if self.params.measure_upper else 0)

    def examination(self) -> Examination:
        """Return the examination before its first period."""
        upper = None if self.params.measure_upper else 1.0
        return Examination(self.life, PHRASES[self.params.words], self.seed, upper)


@dataclass
class _LifeProgress:
    """How far an episode has come. `actions` say everything; the others follow from them."""

    exam: Examination
    actions: list[str] = field(default_factory=list)  # also the words of a model that speaks for the user
    taken: int = 0  # of the actions, those of the policy
    spoken: list[Message] = field(default_factory=list)  # of this period: the user's words, and the replies
    awaited: bool = False  # whether a model has yet to find the user's words
    refused: list[tuple[str, str]] = field(default_factory=list)  # its words for this round, and why they were refused
    replied: int = 0  # rounds of this period
    answers: list[str] = field(default_factory=list)  # to this period's probes
    probes: int = 0  # of this period, once they are asked
    valid: bool = True  # whether the last action was understood
    shown: Row = field(default_factory=dict)  # of the item: what the periods so far showed

    def fork(self) -> "_LifeProgress":
        return replace(self, exam=self.exam.fork(), actions=[*self.actions], answers=[*self.answers],
                       spoken=[*self.spoken], refused=[*self.refused])


class ChangingUserEpisode:
    """One life."""

    def __init__(self, world: ChangingWorld) -> None:
        self.world = world
        self._now = _LifeProgress(world.examination())
        self._begin()

    def reset(self) -> Observation:
        self._now = _LifeProgress(self.world.examination())
        return self._seen([*self._person(), *self._begin()])

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("all periods are over")
        said = self._taken(action)
        return Transition(self._seen(said), self._over(), self._now.valid, effect=not self._now.refused)

    def snapshot(self) -> dict[str, Any]:
        return {"actions": [*self._now.actions]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        actions = fields_of(snapshot, {"actions": list[str]})["actions"]
        self._now = _LifeProgress(self.world.examination())
        self._begin()
        for action in actions:
            self._taken(action)

    def fork(self) -> "ChangingUserEpisode":
        other = ChangingUserEpisode(self.world)
        other._now = self._now.fork()
        return other

    def state_hash(self) -> str:
        return digest({"life": self.world.hash, "seed": self.world.seed, "actions": self._now.actions,
                       "replies": self.world.replies})

    def verify(self) -> float | None:
        """Return the share of all questions answered right; those of periods that were not reached are not."""
        return sum(one.accuracy for one in self._now.exam.results) / len(self.world.life.periods)

    def _person(self) -> list[Message]:
        if self.world.params.words == "plain":
            return []
        text = f"You are the assistant of {self.world.life.person.summary} Answer in a few sentences.\n"
        return [{"role": "system", "content": text}]

    def _begin(self) -> list[Message]:
        """Begin a period, and return its first message, or all of a recorded one."""
        self._now.replied, self._now.answers, self._now.probes, self._now.spoken = 0, [], 0, []
        said = self.world.rounds[self._now.exam.period]
        if self.world.replies is None:
            return self._next(0)
        before = sum(map(len, self.world.rounds[:self._now.exam.period]))
        replies = self.world.replies[before:before + len(said)]
        talk = [message for user, reply in zip(said, replies, strict=True)
                for message in (user, {"role": "assistant", "content": reply})]
        return [*talk, *self._probes()]

    def _taken(self, action: str) -> list[Message]:
        now = self._now
        now.actions.append(action)
        if now.awaited:
            return self._worded(action)
        now.taken += 1
        if now.probes:
            return self._answered(action)
        now.valid = bool(action.strip())
        now.replied += 1
        now.spoken.append({"role": "assistant", "content": action})
        return self._next(now.replied)

    def _next(self, place: int) -> list[Message]:
        """Return the user's words of a round, nothing where a model has yet to find them, or probes after the last."""
        said = self.world.rounds[self._now.exam.period]
        self._now.awaited = self.world.params.speech == "model" and place < len(said)
        return [] if self._now.awaited else said[place:place + 1] or self._probes()

    def _worded(self, words: str) -> list[Message]:
        """Take the words of a model. Raises EpisodeFailed for one that contradicts the life too often."""
        now, turn = self._now, self._turn()
        wrong = fault(self.world.life, turn, words)
        now.valid = not wrong
        if wrong and len(now.refused) >= self.world.params.most_retries:
            raise EpisodeFailed(f"the user's model contradicted the user {len(now.refused) + 1} times: {wrong}")
        if wrong:
            now.refused.append((words, wrong))
            return []
        now.awaited, now.refused = False, []
        said = self.world.rounds[now.exam.period][now.replied]
        text = f"{words.strip()}\n" if turn.later else PHRASES[self.world.params.words].dated(
            turn.session.time, words.strip())
        now.spoken.append({"role": "user", "content": text})
        return [{**said, "content": text}]

    def _turn(self) -> Turn:
        return self.world.turns[self._now.exam.period][self._now.replied]

    def _ask(self) -> Ask | None:
        """Return the question to a model that speaks for the user. A later turn sees the last two messages."""
        if not self._now.awaited:
            return None
        turn = self._turn()
        heard = self._now.spoken[-2:] if turn.later else []
        return Ask(USER, prompt(self.world.life, turn, heard, self._now.refused))

    def _answered(self, action: str) -> list[Message]:
        now = self._now
        now.valid = read_number(action) is not None
        now.answers.append(action)
        if len(now.answers) < now.probes:
            return []
        result = now.exam.answered(now.answers)
        now.shown = _shown(now.exam.results, named=not self.world.written)
        sent = [self._result(result)] if self.world.params.results else []
        return sent if self._over() else [*sent, *self._begin()]

    def _probes(self) -> list[Message]:
        probes = self._now.exam.probes()
        self._now.probes = len(probes)
        return [{"role": "user", "name": one.kind, "content": one.text} for one in probes]

    def _result(self, found: PeriodResult) -> Message:
        life, state = self.world.life, self.world.life.states[found.period]
        sessions = life.periods[found.period].sessions
        content = {**asdict(found), "accuracy": found.accuracy, "memory_score": found.memory_score,
                   "exposed": [one.exposes for one in sessions],
                   "values": {name: state[name] for one in sessions for name in one.exposes},
                   "questions": [one.text for one in life.questions],
                   "answers": [one.right(state) + 1 for one in life.questions]}
        return {"role": "user", "name": "result", "content": json.dumps(content)}

    def _over(self) -> bool:
        return self._now.exam.period == len(self.world.life.periods)

    def _seen(self, said: list[Message]) -> Observation:
        left = self.world.actions - self._now.taken
        return Observation(said, self._item(), {"type": "environment"}, left, self.state_hash(), ask=self._ask())

    def _item(self) -> Row:
        return {"life": self.world.hash, "user_seed": self.world.seed, "off_policy": self.world.replies is not None,
                "last_period": len(self.world.life.periods) - 1, "periods": [], "components": {}, **self._now.shown,
                "verified": self.verify()}


def _shown(results: Sequence[PeriodResult], *, named: bool) -> Row:
    return {"periods": [asdict(one) for one in results], "components": _components(results, named=named)}


def _components(results: Sequence[PeriodResult], *, named: bool) -> dict[str, float]:
    """Return the figures of the periods so far; a memory score only where there is one.

    `named`: also those of each variable. Written lives have too many different ones to be metrics.
    """
    found = report(results)
    score = {} if found.memory_score is None else {"memory_score": found.memory_score}
    known = {f"known/{name}": right / asked for name, (right, asked) in found.known.items()}
    return {**score, "accuracy": found.accuracy, "write": found.write, "read": found.read,
            "utilization": found.utilization, "random": found.random, "upper": found.upper,
            "json_errors": float(found.json_errors), "left_out": float(found.left_out),
            "known": fmean(known.values()), **(known if named else {})}


def _rounds(world: ChangingWorld, t: int) -> list[Message]:
    count = world.params.life.rounds if t else world.params.life.first_rounds
    said = list[Message]()
    for session in world.life.periods[t].sessions:
        first, *others = talks.rounds(session, PHRASES[world.params.words], count)
        said.append({"role": "user", "name": "opener", "content": first})
        said += [{"role": "user", "content": text} for text in others]
    return said


def _replies(item: Row, made: Life, sizes: Sizes) -> tuple[str, ...]:
    found = item.get("replies")
    count = sum(len(period.sessions) * (sizes.rounds if t else sizes.first_rounds)
                for t, period in enumerate(made.periods))
    if not isinstance(found, list) or len(found) != count or not all(isinstance(one, str) for one in found):
        raise WrongParams("item.replies", found, f"a list of {count} texts, one for each round")
    return tuple(found)


def _integer(item: Row, seed: int) -> int:
    found = item.get("user_seed", seed)
    if not isinstance(found, int) or isinstance(found, bool):
        raise WrongParams("item.user_seed", found, "an integer")
    return found
