"""Dialogues with simulated users, beside tools where the domain has some.

The agent's text goes to the user. Its tool calls go to the tools of the domain. The dialogue is over when the user
leaves, or when the agent has used up its turns. Users are of `hone.users`: their state is kept here, their words come
from templates, or from a model that is asked in the role `user` and whose words are checked against that state.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from hone.environments.contract import EnvironmentParams, Message, Row
from hone.environments.dialogues import DOMAINS, rows
from hone.environments.dialogues.episode import USER, DialogueEpisode, Terms
from hone.environments.dialogues.measures import Rule, Tokens
from hone.environments.dialogues.orders import OrdersParams
from hone.environments.dialogues.sales import SalesParams
from hone.environments.dialogues.scenario import Scenario
from hone.users.conversation import Conversation, Speech


class DialogueParams(EnvironmentParams):
    """Who is talked to, about what, and how it is graded."""

    domain: Literal["orders", "sales", "talk"] = Field("orders", description="orders: an order desk with tools. sales: "
                                                       "customers who are called. talk: users of a dataset's rows.")
    words: Speech = Field("scripted", description="Who finds the user's words: templates by seed, or the model of the "
                          "role user.")
    opening: Speech = Field("scripted", description="Who finds the user's first words; model needs `words: model`.")
    guidelines: list[Annotated[str, Field(min_length=1, max_length=2000)]] = Field(
        [], description="Sentences that are added to the guidelines of a model that speaks for the user.")
    most_retries: int = Field(2, ge=0, le=10, description="How often that model is asked again for words that "
                              "contradict the user. Then the sample is masked.")
    turns: int = Field(30, ge=1, le=1000, description="Most texts and tool calls of the agent.")
    show_policy: bool = Field(True, description="Show the domain's policy in a system message.")
    rules: dict[Rule, Annotated[float, Field(ge=0, le=1000)]] = Field(
        {}, description="Rules that grade each of the agent's texts, with their weights: its reward is the weighted "
        "sum.")
    shortest: int = Field(1, ge=0, le=100_000, description="Fewest tokens of a text for the rule length.")
    longest: int = Field(256, ge=1, le=100_000, description="Most tokens of a text for the rule length.")
    tokens: Tokens = Field("words", description="Unit of n-grams and lengths: words, or characters (Chinese).")
    orders: OrdersParams = Field(OrdersParams(), description="Tasks of the domain orders.")
    sales: SalesParams = Field(SalesParams(), description="Customers of the domain sales.")

    @model_validator(mode="after")
    def _speaks(self) -> Self:
        if self.opening == "model" and self.words != "model":
            raise ValueError("opening: found model, expected scripted where the other words are scripted")
        return self


class Dialogue:
    """A row is a user: prompt (its first words), goal and knowledge; perhaps also profile, database and expected."""

    summary = "Talk to a simulated user, with tools: an order desk, sales calls, or the users of your rows."
    params = DialogueParams
    harness = "dialogue"
    columns: frozenset[str] | None = frozenset({"goal", "knowledge"})
    asked_roles = frozenset({USER})
    foreign = False

    def rules(self, params: DialogueParams) -> dict[str, float]:
        return dict(params.rules.items())

    def messages(self, params: DialogueParams, seed: int, item: Row | None) -> list[Message]:
        return self.episode(params, seed, item).opening()

    def content(self, params: DialogueParams, seed: int, item: Row | None) -> dict[str, Any]:
        scenario = _scenario(params, seed, item)
        drawn = {"seed": seed} if item is None else {}  # of the user's chances: customers of few kinds differ by them
        return {
            "profile": scenario.profile.model_dump(), "policy": scenario.policy, "database": scenario.tables, **drawn}

    def episode(self, params: DialogueParams, seed: int, item: Row | None) -> DialogueEpisode:
        scenario = _scenario(params, seed, item)
        conversation = Conversation(
            scenario.profile, seed, params.words, params.most_retries, params.guidelines, params.opening)
        terms = Terms(seed, params.turns, self.rules(params), (params.shortest, params.longest), params.tokens,
                      params.show_policy)
        return DialogueEpisode(scenario, DOMAINS[params.domain], conversation, terms)


def _scenario(params: DialogueParams, seed: int, item: Row | None) -> Scenario:
    domain = DOMAINS[params.domain]
    if item is not None:
        return rows.scenario(item, domain)
    return domain.scenario(getattr(params, params.domain, None), seed)
