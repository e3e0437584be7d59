"""Parameters of the harness `map_then_act`, and the texts that it asks. The texts are a reconstruction."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from hone.harnesses.contract import HarnessParams

EXPLORE = """{knowledge}{task}

Do not solve the task yet. First look around: you have {budget} actions that do not count. Find out where things are, \
what can be done with them, and what fails. Answer with one action."""
SIGNALS = "[step {step} of {budget}, new knowledge {know}, novelty {novelty}]"
WRITE = """{knowledge}{task}

You have looked around:
{history}

Write down a map of what you saw and the task needs, one fact a line, in these forms:
<map>
PLACE contains THING, THING
PLACE connects PLACE
THING affords VERB
ACTION fails: REASON
</map>"""
EXECUTE = "{knowledge}{map}{task}"
ANALYSE = """{knowledge}{task}

Do not begin yet. List what is worth finding out about this environment: which actions there are, what they need, what \
they change, what fails and why."""
TRY = """{knowledge}{task}

Find out these things while you try the task:
{priorities}
{reflections}
Answer with one action."""
REFLECT = """{task}

This is what was done:
{episode}

The task was not solved. Why? Write what failed, and what to do instead."""
DISTILL = """{knowledge}{task}

This is what was done, round by round:
{episode}

Write down what holds in every task of this environment, not in this one alone, one statement a line:
action: an action's form and its arguments
rule: what an action needs, or what it changes
error: what failed, and why"""


class MapThenActParams(HarnessParams):
    """How long and how the policy explores, what it is asked, and how knowledge of the environment is used."""

    marked: ClassVar[frozenset[str]] = frozenset({"explore", "map"})

    budget: int = Field(10, ge=0, le=500, description="B_map, most steps of exploration; 0: none, and no map. The "
                        "paper has 10 in ALFWorld, 15 in TextCraft.")
    window: int = Field(3, ge=1, le=100, description="w, last steps over which both signals are averaged; exploration "
                        "never converges before.")
    least_know: float = Field(0.1, ge=0, le=1, description="e_k: at most this mean of new knowledge, and")
    least_novelty: float = Field(0.7, ge=0, le=1, description="e_n: at most this mean of novelty, end exploration.")
    balance: float = Field(0.5, ge=0, le=1, description="b, weight of new knowledge against novelty in r_int.")
    intrinsic: float = Field(0.0, ge=0, le=10, description="Reward of each step of exploration, times r_int; 0: none.")
    reset: bool = Field(True, description="Explore in a copy of the environment, so that the task begins in its first "
                        "state; false: in the environment itself, by harmless actions alone.")
    harmless: list[Annotated[str, StringConstraints(pattern=r"^\S+$")]] = Field(
        ["look", "examine", "open", "go", "inventory"], min_length=1, description="First words of actions that change "
        "nothing that matters, in any case; any other action is refused while exploring without `reset`.")
    append: bool = Field(True, description="Show new facts that are seen while acting, in addition to the map.")
    map_characters: int = Field(2048, ge=1, description="Most characters of the map; of a longer one the layout "
                                "entries go first that have least to do with the task, rules never.")
    knowledge: Literal["read", "build", "off"] = Field(
        "read", description="Knowledge of the environment from the run's collection `knowledge`: read it; build it, in "
        "episodes of its own; or neither.")
    store: str | None = Field(
        None, pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}(@[1-9][0-9]{0,8})?$", description="Stored knowledge with which the "
        "run begins, NAME or NAME@VERSION; of the newest version it has a copy.")
    knowledge_characters: int = Field(4096, ge=1, description="Most characters of the knowledge that is read.")
    rounds: int = Field(3, ge=1, le=16, description="Tries of a task from which knowledge is built.")
    success: float = Field(1.0, gt=0, description="The environment's own score of an episode that succeeds.")
    explore: str = Field(EXPLORE, max_length=20_000, description="Prompt of exploration: {task}, {knowledge}, "
                         "{budget}.")
    signals: str = Field(SIGNALS, max_length=2000, description="Text after each observation of exploration: {step}, "
                         "{budget}, {know}, {novelty}; empty: nothing.")
    write: str = Field(WRITE, max_length=20_000, description="Prompt for a map: {task}, {knowledge}, {history}.")
    execute: str = Field(EXECUTE, max_length=20_000, description="The task with knowledge or a map: {task}, "
                         "{knowledge}, {map}. Without both it is the environment's own opening.")
    analyse: str = Field(ANALYSE, max_length=20_000, description="Prompt before knowledge is built: {task}, "
                         "{knowledge}.")
    attempt: str = Field(TRY, max_length=20_000, description="Prompt of a try: {task}, {knowledge}, {priorities}, "
                         "{reflections}.")
    reflect: str = Field(REFLECT, max_length=20_000, description="Prompt after a failed try: {task}, "
                         "{episode}.")
    distill: str = Field(DISTILL, max_length=20_000, description="Prompt for knowledge: {task}, {knowledge}, "
                         "{episode}.")
    characters: int = Field(8000, ge=1, description="Most characters of the shown history; its end is shown.")
