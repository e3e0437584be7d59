"""The domain `sales`, after DuCA (arXiv 2603.01481): an agent calls a customer, who buys or hangs up.

The paper says nothing of its simulator; this one is a reconstruction. A persona likes some topics and dislikes others,
by amounts that raise or lower its interest. It buys when it is asked to while its interest has reached a threshold,
which is hidden and drawn for each seed. At each of the agent's texts it may hang up.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from hone.environments.contract import EnvironmentParams
from hone.environments.dialogues.scenario import NO_CLASSES, NO_COLUMNS, Figure, Scenario, Store
from hone.environments.tools import Tool
from hone.users.profile import Fact, Goal, Mood, MoodRule, Profile

POLICY = (
    "You sell phone contracts. Find out what matters to the customer, and ask for the order, or whether you may call "
    "back, when the customer is interested. Never say the same twice. Guarantee nothing, and hurry nobody.")
CLOSES = "order|buy|sign up|sign you up|call you back|call back"
"""Phrases that ask a customer to decide."""
TOPICS: Mapping[str, str] = {
    "price": "price*|cheap*|save*|saving*|cost*|discount*|month*",
    "quality": "quality|network|coverage|signal|fast|speed",
    "service": "service|support|help|hotline|shop",
    "freedom": "cancel*|no term|free to leave|flexible|switch*",
}
"""Phrases of each topic that an agent may raise."""
PRESSURE = "guarantee*|hurry|last chance|only today|risk free|you must"


@dataclass(frozen=True)
class _Persona:
    text: str
    matters: str
    likes: Mapping[str, float]  # change of the interest by topic
    pressure: float  # the same of a promise or a threat
    need: str


_PERSONAS: Mapping[str, _Persona] = {
    "thrifty": _Persona("You count every cent.", "the price", {"price": 1.0, "freedom": 0.5}, 0.5, "calls at home"),
    "busy": _Persona("You have little time.", "a good network", {"quality": 1.0, "service": 0.5}, -0.5, "work away"),
    "careful": _Persona("You distrust contracts.", "that I can leave", {"freedom": 1.0, "service": 0.5}, -1.0,
                        "a spare"),
    "helpless": _Persona("You know little of phones.", "help when it fails", {"service": 1.0, "price": 0.5}, 0.5,
                         "a first phone"),
    "gamer": _Persona("You play all day.", "speed", {"quality": 1.0, "price": 0.5}, 0.0, "games on trains"),
}
PersonaName = Literal["thrifty", "busy", "careful", "helpless", "gamer"]


class SalesParams(EnvironmentParams):
    """Customers of the domain sales."""

    personas: list[PersonaName] = Field(list(get_args(PersonaName)), min_length=1, description="Who may be called.")
    lowest: float = Field(0.5, ge=0, le=10, description="Lowest interest from which a customer may buy.")
    highest: float = Field(1.5, ge=0, le=10, description="Highest interest; each customer's is drawn between both, in "
                           "halves.")
    hazard: float = Field(0.03, ge=0, le=1, description="Chance at each text that the customer hangs up.")
    once: bool = Field(True, description="A topic changes the interest once; false: as often as it is raised.")
    repeats: float = Field(-0.5, le=0, description="Change of the interest when the agent says what it said before.")
    notices: float = Field(0.25, ge=0, le=1, description="Chance that the customer then notices a machine.")
    turns: int = Field(20, ge=1, le=100, description="Texts of the agent after which a customer leaves.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lowest > self.highest:
            raise ValueError("lowest at most as large as highest")
        return self


class Sales:
    """Calls of customers, without tools."""

    policy = POLICY
    classes = NO_CLASSES
    columns = NO_COLUMNS
    figures: tuple[Figure, ...] = ("conversion", "repetition", "identity")
    forbidden: tuple[str, ...] = (r"\bguarantee", r"\brisk[ -]free\b", r"\blast chance\b", r"\bonly today\b")

    def tools(self, store: Store) -> Mapping[str, Tool]:
        """Return none."""
        return {}

    def scenario(self, params: SalesParams, seed: int) -> Scenario:
        """Return the customer of a seed."""
        chance = random.Random(f"sales {seed}")
        name = chance.choice(params.personas)
        persona, steps = _PERSONAS[name], int(2 * (params.highest - params.lowest))
        threshold = params.lowest + chance.randint(0, steps) / 2
        rules = [MoodRule(hears=TOPICS[topic], mood=change, once=params.once)
                 for topic, change in persona.likes.items()]
        rules.append(MoodRule(hears=PRESSURE, mood=persona.pressure))
        profile = Profile(
            id=name, persona=persona.text, turns=params.turns, hang_up=params.hazard, notices=params.notices,
            goal=Goal(text="I may want a phone contract.", hears=[CLOSES], mood=threshold),
            knowledge=[Fact(name="matters", value=persona.matters, asked=["matter*|important|look for|looking for"],
                            says="What matters to me is {value}."),
                       Fact(name="need", value=persona.need, asked=["need*|use*"], says="It is for {value}.")],
            mood=Mood(least=-2.0, rules=rules, again=-0.25, repeats=params.repeats, nothing=-0.25),
            opening="Yes, hello?", lines={"goal": ["All right, I take it.", "Good, let us do that."]})
        return Scenario(profile, POLICY, facts={"threshold": threshold})
