"""The contract of a grader: its parameters, a pure function of what it reads of a sample, and its result."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from pydantic import ConfigDict, Field

from hone.graders.questions import Asked, JudgeFailed, Reply
from hone.graders.sample import Item, Reads, Sample, World
from hone.graders.scenes import Scene
from hone.sandbox.program import Program, Ran
from hone.spec.parameters import Strict


class Status(StrEnum):
    """Whether a grade says something about the policy.

    ok, no_answer and timeout_candidate are facts about the policy, and the score is valid. With every other status the
    system failed: there is no score, and the sample is masked.
    """

    OK = "ok"
    NO_ANSWER = "no_answer"
    TIMEOUT_CANDIDATE = "timeout_candidate"
    INFRA_ERROR = "infra_error"
    JUDGE_ERROR = "judge_error"
    TIMEOUT_GRADER = "timeout_grader"
    INVALID_SPEC = "invalid_spec"


@dataclass(frozen=True)
class Scored:
    """The score of a step inside a call's text: its characters from `start` to before `end`."""

    call: str  # its number; empty: the call whose text is the sample's output
    start: int
    end: int
    name: str
    value: float


@dataclass(frozen=True)
class Result:
    """One grade. `score` is None exactly when the system failed, as the status says."""

    status: Status
    score: float | None
    components: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    extracted: str | None = None  # the answer that the grader found in the output
    decided_by: str = ""  # name of the rule that decided the score
    cost_ms: float = 0.0
    turns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # scores by name, by the number of a call
    steps: tuple[Scored, ...] = ()  # scores of steps inside answers
    tokens: Mapping[str, int] = field(default_factory=dict)  # that judges used for it, by model
    evidence: tuple[Mapping[str, Any], ...] = ()  # what judges were asked and answered, and what was run: JSON objects


class NoAnswer(Exception):
    """The output holds no answer. This is a fact about the policy: the score is 0."""


class InvalidSpec(Exception):
    """The grader and the task row do not fit together. The policy is not to blame: there is no score."""


class NoReference(Exception):
    """The grader knows no output that is right for the row. The message says why."""


@dataclass(frozen=True)
class RightOutput:
    """An output that is right by the row's own reference, and the score that it has to get."""

    text: str
    score: float = 1.0
    note: str = ""  # what may explain a lower score


LONGEST_NAME = 200
"""Characters of the name of a component, or of a score of a turn or a step: they are part of a key of the database."""


def is_name(name: str) -> bool:
    """Return whether a score beside the whole one may have a name. Without one it would be taken for the whole."""
    return 1 <= len(name) <= LONGEST_NAME


def verdict(right: bool, extracted: str, decided_by: str) -> Result:
    """Return score 1 for a right answer and 0 for a wrong one."""
    return Result(Status.OK, float(right), extracted=extracted, decided_by=decided_by)


def no_answer(reason: str) -> Result:
    """Return score 0 for an output without an answer."""
    return Result(Status.NO_ANSWER, 0.0, reasons=(reason,), decided_by="no_answer")


def failure(status: Status, reason: str) -> Result:
    """Return a result without score, for a system failure."""
    return Result(status, None, reasons=(reason,), decided_by=status.value)


def with_costs(whole: Result, parts: Iterable[Result]) -> Result:
    """Return a result with what the judges of its parts used and showed."""
    tokens, evidence = Counter(whole.tokens), list(whole.evidence)
    for part in parts:
        tokens.update(part.tokens)
        evidence += part.evidence
    return replace(whole, tokens=dict(tokens), evidence=tuple(evidence))


class GraderParams(Strict):
    """A grader's JSON. Unknown keys and values of another type are errors."""

    model_config = ConfigDict(strict=True)

    type: str = Field(description="Name of the grader.")
    name: str = Field("", description="A name that results show. It changes no grade.")

    @property
    def asked_kinds(self) -> Mapping[str, Sequence[str]]:
        """Kinds of calls that the grader reads, by the names of the parameters."""
        return {}


P = TypeVar("P", bound=GraderParams)


def _reads_no_reasoning(params: Any) -> bool:  # noqa: ARG001
    return False


@dataclass(frozen=True)
class Mark:
    """Two texts around an answer, as a grader reads it. `needed`: without them an output has no answer."""

    opening: str
    closing: str
    needed: bool = True


def _no_marks(params: Any) -> Sequence[Mark]:  # noqa: ARG001
    return ()


def _no_preparation() -> None:
    """Prepare nothing."""


class Needs(StrEnum):
    """Resource that a kind of grader waits for. A grader without needs is a pure function, and runs anywhere."""

    JUDGE = "judge"  # a model that answers
    VERIFIER = "verifier"  # a server of others that gives a reward
    RATER = "rater"  # a reward model: a number for a text
    SANDBOX = "sandbox"  # a process for programs that nobody trusts
    WORLD = "world"  # the environment in its last state, to be looked at with tools


class Tools(Protocol):
    """Resources of a grader beside its inputs. Several requests at once are answered at once, where that is possible.

    What is asked of judges, programs and graders raises nothing.
    """

    async def graded(self, asked: Sequence[tuple[str, Sample]]) -> list[Result]:
        """Grade samples, each by the grader at a path in the params, and return the results in their order."""

    async def asked(self, questions: Sequence[Asked]) -> list[Reply | JudgeFailed]:
        """Ask judges, or verify servers, and return what came of each question. For graders that need one."""

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        """Run programs in the sandbox, and return what each did. For graders that need a sandbox."""

    def entered(self, world: World) -> AbstractAsyncContextManager[Scene]:
        """Give a copy of a world, until the context ends. For graders that need a world. Raises WorldLost."""


Bounds = tuple[float, float]
"""Smallest and largest score."""
Names = frozenset[str]
"""Names of scores that a grader gives beside the whole."""


def _no_names(params: Any, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    return frozenset()


def _no_columns(params: Any) -> Names:  # noqa: ARG001
    return frozenset()


def own_names(*names: str) -> Callable[[Any, Mapping[str, Names]], Names]:
    """Return these names, whatever the params are."""
    return lambda _params, _of_inner: frozenset(names)


def all_names(params: Any, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return those of all graders inside."""
    return frozenset[str]().union(*of_inner.values())


@dataclass(frozen=True)
class Grader(Generic[P]):
    """A kind of grader.

    It has one function, for what it reads: `grade` a final text, `grade_sample` one sample, `grade_group` all samples
    of a group. These may raise NoAnswer, InvalidSpec and JudgeFailed. The last two are coroutines; they wait for their
    tools alone, which are the graders that `inner` names, and what the kind `needs`.
    `grade` gets the output without its blocks of reasoning, unless `reads_reasoning` is true for the parameters.
    A pooled grader runs in a process that is killed when it hangs.
    """

    params: type[P]
    grade: Callable[[Item, str, P], Result] | None = None
    grade_sample: Callable[[Sample, P, Tools], Awaitable[Result]] | None = None
    grade_group: Callable[[Sequence[Sample], P, Tools], Awaitable[list[Result]]] | None = None
    needs: frozenset[Needs] = frozenset()
    reads: frozenset[Reads] = frozenset()  # of a sample, beside its output
    pooled: bool = False
    prepare: Callable[[], None] = _no_preparation  # pooled: imports heavy modules and tests itself, without time limit
    reads_output: bool = True  # False: it also grades an empty output
    reads_reasoning: Callable[[P], bool] = _reads_no_reasoning  # True: `grade` gets what the model thought, too
    columns: Callable[[P], Names] = _no_columns  # fields of the row that it reads, beside those of its templates
    marks: Callable[[P], Sequence[Mark]] = _no_marks  # around the answer: a stop text must not take them off
    low: float = 0.0  # smallest score
    high: float = 1.0  # largest score
    figures: bool = False  # True: its components are figures of any size, such as counts, and no parts of the score
    bounds: Callable[[P, Mapping[str, Bounds]], Bounds] | None = None  # from the params and the inner graders' bounds
    #                                                                    by path; None: low and high
    components: Callable[[P, Mapping[str, Names]], Names] = _no_names  # that it gives by its params, and by those of
    #                                                                    the graders inside, by path
    turn_scores: Callable[[P, Mapping[str, Names]], Names] = _no_names  # the same of single calls
    step_scores: Callable[[P, Mapping[str, Names]], Names] = _no_names  # and of steps inside their texts
    limit_s: float = 10.0  # seconds that a grade may take where it waits for judges and programs
    wait_s: Callable[[Item, P], float] | None = None  # seconds to wait before a grade
    right_output: Callable[[Item, P], RightOutput] | None = None  # from the row's reference; may raise NoReference
    inner: Callable[[P], dict[str, dict[str, Any]]] | None = None  # JSON of other graders by their path in the params
