"""One dialogue: the agent's texts go to the user, its calls to the tools; the user decides when it is over."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from hone.environments import turn_rules
from hone.environments.contract import Ask, EpisodeFailed, EpisodeOver, Message, Observation, Row, Transition
from hone.environments.dialogues import measures
from hone.environments.dialogues.measures import Tokens
from hone.environments.dialogues.scenario import DialogueDomain, Scenario, Store, as_expected
from hone.environments.hashing import digest
from hone.environments.tools import ToolError, tool_call, use
from hone.spec.snapshots import WrongSnapshot, fields_of
from hone.users.conversation import Conversation, Reply, Unfaithful
from hone.users.profile import found

USER = "user"
"""The role that a dialogue asks."""


@dataclass(frozen=True)
class Terms:
    """How a dialogue is held and graded."""

    seed: int
    turns: int  # most answers of the agent: texts and calls
    weights: Mapping[str, float]  # of rules that grade turns
    band: tuple[int, int]  # fewest and most tokens of a text
    tokens: Tokens
    shows_policy: bool

_Tables = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class _Said:
    """Actions of the agent so far."""

    turns: int = 0
    texts: tuple[str, ...] = ()
    scores: tuple[Mapping[str, float], ...] = ()  # of each text, by rule
    refused: tuple[tuple[str, str], ...] = ()  # words of a model that were refused, and why


class DialogueEpisode:
    """One dialogue. Its user is a conversation, its world a store."""

    def __init__(self, scenario: Scenario, domain: DialogueDomain, conversation: Conversation, terms: Terms) -> None:
        self._scenario, self._domain, self._terms = scenario, domain, terms
        self._fresh, self._user, self._store = conversation, conversation.fork(), Store(scenario.tables)
        self._tools, self._said = domain.tools(self._store), _Said()
        self._described = [tool.described(name) for name, tool in self._tools.items()] or None

    def reset(self) -> Observation:
        self._user, self._store.tables, self._said = self._fresh.fork(), self._scenario.tables, _Said()
        if (asked := self.asked) is not None:
            return replace(self._seen(self._head()), ask=asked)
        return self._seen(self.opening())

    @property
    def asked(self) -> Ask | None:
        """Question to the model that speaks next; None: the agent is to speak."""
        prompt = self._user.asked
        return None if prompt is None else Ask(USER, [*prompt])

    def opening(self) -> list[Message]:
        """Return the policy that the agent has to keep to, and the user's first words, as a script has them."""
        return [*self._head(), _spoken(self._fresh.opening)]

    def _head(self) -> list[Message]:
        shown = self._terms.shows_policy and self._scenario.policy
        return [{"role": "system", "content": self._scenario.policy + "\n"}] if shown else []

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the user has left, or the turns are used up")
        if self._user.cue is not None:
            return self._answered(action)
        self._said = replace(self._said, turns=self._said.turns + 1)
        return self._used(action) if tool_call(action) else self._heard(action.strip())

    def take_back(self) -> None:
        """Let the user's last answer count as not given."""
        self._user.take_back()

    def snapshot(self) -> dict[str, Any]:
        said = self._said
        return {"user": self._user.snapshot(), "tables": self._store.tables, "turns": said.turns,
                "texts": [*said.texts], "scores": [dict(one) for one in said.scores],
                "refused": [[*one] for one in said.refused]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        given = fields_of(snapshot, {**get_type_hints(_Said), "user": dict[str, Any], "tables": _Tables})
        tables, user = given.pop("tables"), given.pop("user")
        if set(tables) != set(self._scenario.tables):
            raise WrongSnapshot("tables", sorted(tables), f"the tables {', '.join(self._scenario.tables)}")
        self._user.restore(user)
        self._store.tables = tables
        self._said = _Said(**given)

    def fork(self) -> "DialogueEpisode":
        other = DialogueEpisode(self._scenario, self._domain, self._fresh, self._terms)
        other._user, other._store.tables, other._said = self._user.fork(), self._store.tables, self._said
        return other

    def state_hash(self) -> str:
        return digest({**self.snapshot(), "profile": self._scenario.profile_hash, "seed": self._terms.seed})

    def verify(self) -> float | None:
        """Return 1 where the database is as expected and everything was communicated, else 0.

        Where the scenario expects nothing of them, whether the user's goal is reached.
        """
        return self._score(self._figures())

    def solution(self) -> list[str]:
        """Return actions that score 1 with a scripted user; [] where none are known."""
        return [*self._scenario.gold]

    def _score(self, figures: Mapping[str, float]) -> float:
        if self._scenario.expected is None and not self._scenario.communicate:
            return figures["goal"]
        return figures["state"] * figures["communication"]

    def _used(self, action: str) -> Transition:
        """Carry out a tool call. Whoever wraps the tools, for example with noise, does it at `use`."""
        call, before = tool_call(action), self._store.tables
        assert call is not None
        try:
            text, valid = use(self._tools, call), True
        except ToolError as error:
            text, valid = f"error: {error}", False
        return self._taken([{"role": "tool", "content": text + "\n"}], valid, {}, self._store.tables != before)

    def _heard(self, text: str) -> Transition:
        terms, noticed = self._terms, self._user.user.noticed
        reply = self._user.hear(text)
        texts = (*self._said.texts, text)
        given = measures.scores(
            texts, self._user.user.noticed and not noticed, self._domain.forbidden, terms.band, terms.tokens)
        scores = {rule: given[rule] for rule in terms.weights}
        self._said = replace(self._said, texts=texts, scores=(*self._said.scores, scores))
        return self._replied(reply, bool(text), scores)

    def _answered(self, words: str) -> Transition:
        """Take the words of the model that speaks for the user. Raises EpisodeFailed."""
        try:
            reply = self._user.answer(words)
        except Unfaithful as error:
            raise EpisodeFailed(str(error)) from error
        if reply.prompt is not None:
            self._said = replace(self._said, refused=(*self._said.refused, self._user.refused[-1]))
        return self._replied(reply, reply.prompt is None, {})

    def _replied(self, reply: Reply, valid: bool, scores: Mapping[str, float]) -> Transition:
        if reply.prompt is not None:
            return self._taken([], valid, scores, True, Ask(USER, [*reply.prompt]))
        return self._taken([_spoken(reply.words)], valid, scores, True)

    def _taken(
        self, said: list[Message], valid: bool, scores: Mapping[str, float], effect: bool, ask: Ask | None = None
    ) -> Transition:
        rules = {rule: scores.get(rule, 0.0) for rule in self._terms.weights}
        seen = replace(self._seen(said), ask=ask)
        return Transition(seen, self._over(), valid, self._paid(rules), effect, rules)

    def _paid(self, rules: Mapping[str, float]) -> float | None:
        if not rules:
            return None
        [paid] = turn_rules.turn_rewards({rule: [score] for rule, score in rules.items()}, {**self._terms.weights})
        return paid

    def _over(self) -> bool:
        return self._user.cue is None and (bool(self._user.ended) or self._said.turns >= self._terms.turns)

    def _figures(self) -> dict[str, float]:
        scenario, texts = self._scenario, self._said.texts
        reached = float(self._user.user.ended == "goal")
        state = scenario.expected is None or as_expected(self._store.tables, scenario.expected, self._domain.classes)
        return {
            "goal": reached, "conversion": reached, "state": float(state),
            "communication": float(all(any(found(one, text) for text in texts) for one in scenario.communicate)),
            "repetition": measures.repetition(texts, self._terms.tokens), "identity": float(self._user.user.noticed)}

    def _seen(self, said: list[Message]) -> Observation:
        return Observation(
            said, self._item(), {"type": "environment"}, self._terms.turns - self._said.turns, self.state_hash(),
            self._described)

    def _item(self) -> Row:
        figures, profile = self._figures(), self._scenario.profile
        return {
            **self._scenario.facts, "persona": profile.id, "simulator_seed": self._terms.seed,
            "reason": self._user.ended or ("max_turns" if self._over() else ""),
            "turn_rules": [dict(one) for one in self._said.scores],
            "refused": [{"words": words, "reason": reason} for words, reason in self._said.refused],
            "components": {name: figures[name] for name in self._domain.figures}, "verified": self._score(figures)}


def _spoken(words: str) -> Message:
    return {"role": "user", "content": words + "\n"}
