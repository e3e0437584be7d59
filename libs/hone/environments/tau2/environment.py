"""The environment `tau2`: tasks of a domain in tau2-bench's format, with its tools in the sandbox, and its user."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import Field

from hone.environments.capabilities import AddedTasks
from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.packages.calling import Runner
from hone.environments.tau2 import history
from hone.environments.tau2.domain import ServiceDomain
from hone.environments.tau2.episode import USER, DomainEpisode, DomainTerms
from hone.environments.tau2.model_user import ModelUser
from hone.environments.tau2.scripted_user import ScriptedUser
from hone.environments.tau2.talk import Participant
from hone.environments.tau2.task import DomainTask
from hone.users.conversation import Speech


class DomainShelf(Runner, Protocol):
    """Where domains come from, and what runs their code. The process that plays episodes has one."""

    def domain(self, reference: str) -> ServiceDomain:
        """Return a domain by its digest, or by its name, with what was found of it. Raises WrongParams."""


class Tau2Params(EnvironmentParams):
    """Choice of a domain and of its tasks, the user, and the length of an episode."""

    domain: str = Field(
        "", max_length=200, description="Name of a domain (`hone environments add NAME DIRECTORY`), or its digest. A "
        "run keeps the digest that the name meant when it was created.")
    split: str = Field("", max_length=200, description="A split of the domain, such as train or test; empty: all "
                       "tasks.")
    tasks: list[str] = Field([], max_length=10_000, description="Ids of the tasks that are played; empty: all.")
    unproven: bool = Field(False, description="Play also tasks whose gold actions failed when the domain was added.")
    words: Speech = Field("scripted", description="Who finds the user's words: fixed rules that follow the scenario, "
                          "or the model of the role user.")
    guidelines: list[Annotated[str, Field(min_length=1, max_length=2000)]] = Field(
        [], description="Sentences that are added to the guidelines of a model that plays the user.")
    most_retries: int = Field(2, ge=0, le=10, description="How often that model is asked again where it says nothing. "
                              "Then the sample is masked.")
    texts: int = Field(12, ge=1, le=1000, description="Texts of the agent after which a scripted user leaves.")
    turns: int = Field(100, ge=1, le=1000, description="Most texts and tool calls of the agent. An episode that uses "
                       "them up scores 0.")
    errors: int = Field(10, ge=1, le=1000, description="Failed tool calls after which an episode ends, and scores 0.")
    show_policy: bool = Field(True, description="Show the domain's policy in a system message.")
    judge: dict[str, Any] | None = Field(
        None, description="JSON of a grader, from 0 to 1, for tasks whose reward rests on NL_ASSERTION: its templates "
        "read item.nl_assertions and item.conversation. Without a grader such tasks are not played.")


class Tau2World:
    """Tasks follow from the seed: a stream goes through the domain's tasks."""

    summary = "A domain in the format of tau2-bench: policy, tools in the sandbox, a user, and its reward."
    params = Tau2Params
    harness = "dialogue"
    columns: frozenset[str] | None = None
    asked_roles = frozenset({USER})
    foreign = True
    elsewhere = True
    example_params: ClassVar[Mapping[str, Any]] = {"domain": "my-domain"}
    added = AddedTasks("domain", "tau2")
    param_graders = ("judge",)

    def __init__(self) -> None:
        self.shelf: DomainShelf | None = None  # None: this process plays no episodes

    def rules(self, params: Tau2Params) -> Mapping[str, float]:  # one signature for every environment
        return {}

    def messages(self, params: Tau2Params, seed: int, item: Row | None) -> list[Message]:
        return self.episode(params, seed, item).reset().messages

    def content(self, params: Tau2Params, seed: int, item: Row | None) -> dict[str, str]:
        domain, task = self._task(params, seed)
        return {"domain": domain.digest, "task": task.id}

    def episode(self, params: Tau2Params, seed: int, item: Row | None) -> DomainEpisode:
        domain, task = self._task(params, seed)
        assert self.shelf is not None
        terms = DomainTerms(params.turns, params.errors, params.show_policy, _grader(params, task))
        return DomainEpisode(domain, task, self.shelf, terms, _user(params, domain, task, seed))

    def _task(self, params: Tau2Params, seed: int) -> tuple[ServiceDomain, DomainTask]:
        if self.shelf is None:
            raise WrongParams("environment", "tau2", "a process that plays domains: the simulation service")
        domain = self.shelf.domain(params.domain)
        tasks = chosen(domain, params)
        return domain, tasks[seed % len(tasks)]


def chosen(domain: ServiceDomain, params: Tau2Params) -> Sequence[DomainTask]:
    """Return the tasks that parameters choose. Raises WrongParams, with the reason for each task that is named."""
    if params.split and params.split not in domain.splits:
        raise WrongParams("params.split", params.split, f"one of {', '.join(domain.splits) or 'none'}")
    if unknown := [one for one in params.tasks if one not in domain.by_id]:
        raise WrongParams("params.tasks", unknown[0], f"ids of tasks of {domain.name}")
    inside = set(domain.splits[params.split]) if params.split else domain.by_id.keys()
    named = params.tasks or [task.id for task in domain.tasks if task.id in inside]
    refused = {one: why for one in named if (why := _why_not(domain, params, inside, one))}
    if params.tasks and refused:
        raise WrongParams("params.tasks", *next(iter(refused.items())))
    if len(refused) == len(named):
        raise WrongParams("params.domain", params.domain, f"tasks that can be played; of {named[0]}: "
                          f"{refused[named[0]]}")
    return [domain.by_id[one] for one in named if one not in refused]


def _why_not(domain: ServiceDomain, params: Tau2Params, inside: Any, one: str) -> str:
    """Return the missing part without which a task cannot be played; empty: none."""
    task, proof = domain.by_id[one], domain.found.proofs[one]
    if one not in inside:
        return f"a task of the split {params.split}"
    if task.needs_judge and params.judge is None:
        return "params.judge, a grader that reads its sentences (NL_ASSERTION)"
    if proof.problems and not (params.unproven and proof.start != [None, None]):
        return f"params.unproven: true, because its gold actions failed: {proof.problems[0]}"
    return ""


def _grader(params: Tau2Params, task: DomainTask) -> dict[str, Any]:
    own = {"type": "environment"}
    if not task.needs_judge:
        return own
    return {"type": "multi", "graders": {"own": own, "judge": params.judge}, "calculate_output": "own * judge"}


def _user(params: Tau2Params, domain: ServiceDomain, task: DomainTask, seed: int) -> Participant:
    tools = domain.found.user_tools or []
    if params.words == "model":
        return ModelUser(task.user_scenario, tools, params.guidelines, params.most_retries, history.spoken(task))
    gold = [one for one in task.criteria.actions or [] if one.requestor == "user"]
    return ScriptedUser(task.user_scenario, gold, [tool["function"]["name"] for tool in tools], seed, params.texts)
