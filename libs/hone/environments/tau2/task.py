"""A task in tau2-bench's format: its user, its first state, and what its reward rests on. Other keys are not read."""

from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

Requestor = Literal["assistant", "user"]
Basis = Literal["DB", "ENV_ASSERTION", "NL_ASSERTION", "ACTION", "COMMUNICATE"]
"""Parts of a reward, which is the product of those that a task names."""
DEFAULT_BASIS: tuple[Basis, ...] = ("DB", "COMMUNICATE")


_LIKE = 0.8
"""How like a field's name (difflib's ratio) another key is where it counts as misspelt: ours."""


class Part(BaseModel):
    """Base of a task's parts. Keys that are not read are left, but for one that is nearly a field that lacks."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _is_not_misspelt(cls, given: Any) -> Any:
        if isinstance(given, dict):
            absent = [name for name in cls.model_fields if name not in given]
            for key in given.keys() - cls.model_fields:
                if meant := get_close_matches(str(key)[:100], absent, n=1, cutoff=_LIKE):
                    raise PydanticCustomError("misspelt", "the field {meant}, which is lacking", {
                        "key": str(key)[:100], "meant": meant[0]})
        return given


class Instructions(Part):
    """Knowledge and wishes of the user, in the second person."""

    reason_for_call: str
    task_instructions: str = ""
    known_info: str | None = None
    unknown_info: str | None = None
    domain: str = ""


class UserScenario(Part):
    """The user of a task."""

    instructions: Instructions | str
    persona: str | None = None

    @property
    def text(self) -> str:
        """All of it, for a model that plays the user."""
        given = self.instructions
        parts = {"Persona": self.persona} | ({"Instructions": given} if isinstance(given, str) else {
            "Why you call": given.reason_for_call, "What you know": given.known_info,
            "What you do not know": given.unknown_info, "How you behave": given.task_instructions})
        return "\n".join(f"{name}: {text.strip()}" for name, text in parts.items() if text and text.strip())


class Action(Part):
    """A gold call. `compare_args`: arguments that count for ACTION; None: all that a call has."""

    name: str
    arguments: dict[str, Any]
    requestor: Requestor = "assistant"
    compare_args: list[str] | None = None

    def matches(self, name: str, arguments: dict[str, Any]) -> bool:
        """Return whether a call is this one, as tau2-bench compares them."""
        if name != self.name:
            return False
        counted = arguments.keys() if self.compare_args is None else self.compare_args
        return not counted or ({key: arguments[key] for key in counted if key in arguments}
                               == {key: self.arguments[key] for key in counted if key in self.arguments})


class FunctionCall(Part):
    """A call of any function of a domain's tools, marked or not."""

    func_name: str
    env_type: Requestor
    arguments: dict[str, Any]


class EnvAssertion(FunctionCall):
    """A function that has to return `assert_value` at the end."""

    assert_value: bool = True


class HistoryCall(Part):
    """A call that an earlier message made."""

    name: str
    arguments: dict[str, Any]
    id: str = ""
    requestor: Requestor = "assistant"


class HistoryMessage(Part):
    """A message before the first turn. One of the role tool answers the call with its id."""

    role: Literal["user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[HistoryCall] | None = None
    id: str = ""
    requestor: Requestor = "assistant"


class InitialData(Part):
    """Values that are merged into the databases."""

    agent_data: dict[str, Any] | None = None
    user_data: dict[str, Any] | None = None


class InitialState(Part):
    """Content of the databases at the beginning, and the conversation before."""

    initialization_data: InitialData | None = None
    initialization_actions: list[FunctionCall] | None = None
    message_history: list[HistoryMessage] | None = None


def _basis(given: Any) -> Any:
    return DEFAULT_BASIS if given is None else tuple(given) if isinstance(given, list) else given


class Criteria(Part):
    """Graded parts."""

    actions: list[Action] | None = None
    env_assertions: list[EnvAssertion] | None = None
    communicate_info: list[str] | None = None
    nl_assertions: list[str] | None = None
    reward_basis: Annotated[tuple[Basis, ...], BeforeValidator(_basis)] = DEFAULT_BASIS


class DomainTask(Part):
    """A task."""

    id: str = Field(min_length=1, max_length=500)
    user_scenario: UserScenario
    initial_state: InitialState | None = None
    evaluation_criteria: Criteria | None = None

    @property
    def state(self) -> InitialState:
        return self.initial_state or InitialState()

    @property
    def criteria(self) -> Criteria:
        """Graded parts; a task without criteria has an empty basis, whose product is 1."""
        return self.evaluation_criteria or Criteria(reward_basis=())

    @property
    def remarks(self) -> list[str]:
        """Oddities of its criteria, which tau2-bench reads all the same."""
        given = self.criteria
        graded = {"ENV_ASSERTION": given.env_assertions, "NL_ASSERTION": given.nl_assertions,
                  "ACTION": given.actions, "COMMUNICATE": given.communicate_info}
        nothing = all(one != "DB" and not graded[one] for one in given.reward_basis)
        return [*(["evaluation_criteria: nothing is graded, and so every episode scores 1"] if nothing else []), *(
            f"evaluation_criteria.actions.{place}.compare_args: {name} is no argument of the gold call"
            for place, one in enumerate(given.actions or []) for name in one.compare_args or []
            if name not in one.arguments)]

    @property
    def needs_judge(self) -> bool:
        """Whether a sentence in natural language is part of its reward."""
        return "NL_ASSERTION" in self.criteria.reward_basis and bool(self.criteria.nl_assertions)
