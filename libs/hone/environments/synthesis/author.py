"""Who writes a domain that no generator knows: a model in the role `simulator`, or in tests a script.

Everything that an author says is JSON, is read against the package's own form, and proves itself: tools by their cases
in the sandbox, tasks by execution. The prompts of the paper (ScaleEnv, arXiv 2602.06820) are not known.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import Field, ValidationError

from hone.environments.packages.package import Manifest, Part, Tables, ToolSpec, ToolUse
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.patches import Patch
from hone.environments.synthesis.tester import Finding
from hone.environments.synthesis.trail import Phase, Trail
from hone.spec.findings import first
from hone.spec.parameters import Strict

ANSWERS = 3
"""Answers that an author gives to one question, before it counts as one that has none."""
MOST_CASES, MOST_CALLS = 12, 30
_MOST_SHOWN = 600
Json = Mapping[str, Any]
Work = TypeVar("Work")


@dataclass(frozen=True)
class Described:
    """Description by an author so far: the domain, and a state of it as an example."""

    manifest: Manifest
    example: Tables


class Author(Protocol):
    """Answers questions about a domain. `complaint` says what was wrong with the last answer; empty: there was none.

    A method raises UnreadAnswer for an answer that is no JSON object.
    """

    def schema(self, hint: str, complaint: str, /) -> Json:
        """Return a Manifest: domain, summary, policy, tables, tools. Its edges are computed."""

    def data(self, manifest: Manifest, complaint: str, /) -> Json:
        """Return a small state as an example, {"tables": ...}. Cases and tasks begin from it."""

    def source(self, world: Described, tool: ToolSpec, complaint: str, /) -> Json:
        """Return the code of a tool, {"source": text}."""

    def cases(self, world: Described, tool: ToolSpec, complaint: str, /) -> Json:
        """Return cases of a tool, {"cases": [WrittenCase, ...]}: calls that it accepts, and one for each rejection."""

    def repair(
        self, world: Described, tool: ToolSpec, source: str, findings: Sequence[Finding], complaint: str, /,
    ) -> Json:
        """Return a new code of a tool whose cases failed, or other cases: a MendedTool. An empty text gives up."""

    def chain(self, world: Described, number: int, complaint: str, /) -> Json:
        """Return a first state and a chain of calls for the task of this number, a WrittenChain."""

    def instruction(
        self, world: Described, tables: Tables, chain: Sequence[ToolUse], results: Sequence[Any], complaint: str, /,
    ) -> Json:
        """Return the words of a task that was executed, {"instruction": text, "communicate": [text, ...]}."""


class Example(Strict):
    """A state."""

    tables: Tables


class Source(Strict):
    """Code of one tool."""

    source: str = Field(max_length=20_000)


class WrittenCase(Strict):
    """A case: what is otherwise than in the example, a call, and what it changes. No `after`: it has to be rejected."""

    arguments: dict[str, Any] = Field({})
    before: Patch = Field({})
    after: Patch | None = None


class Cases(Strict):
    """Cases of one tool."""

    cases: list[WrittenCase] = Field(max_length=MOST_CASES)


class MendedTool(Source):
    """New code of a tool, and new cases where the old ones were wrong."""

    cases: list[WrittenCase] | None = Field(None, max_length=MOST_CASES)


class WrittenChain(Strict):
    """Differences from the example, and calls that solve a task.

    An argument may be `{"$step": 0, "$field": "loan_id"}`: what the result of an earlier call has in this field.
    """

    before: Patch = Field({})
    chain: list[ToolUse] = Field(min_length=1, max_length=MOST_CALLS)


class Words(Strict):
    """Words of a task for the policy, and the required content of its answer."""

    instruction: str = Field(min_length=1, max_length=10_000)
    communicate: list[str] = Field([], max_length=10)


class UnreadAnswer(Exception):
    """An answer is no JSON object. The message says what was expected."""


class NoAnswer(Exception):
    """An author gave no answer that can be read. Holds what was wrong with each."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__(complaints[-1])
        self.complaints = complaints


def answered(
    trail: Trail, question: str, model: type[Part], ask: Callable[[str], Json],
    wrong: Callable[[Part], str] = lambda _: "", complaint: str = "", answers: int = ANSWERS,
) -> Part:
    """Return the first of an author's answers that can be read and that `wrong` finds nothing in. Raises NoAnswer.

    There are at most so many `answers`. `complaint` is what the author hears before its first one. `trail` keeps what
    was wrong with them.
    """
    complaints = list[str]()
    for _ in range(answers):
        try:
            found = model.model_validate(ask(complaint))
            complaint = wrong(found)
        except UnreadAnswer as error:
            complaint = str(error)
        except ValidationError as error:
            wrong_field = first(error)
            complaint = f"{wrong_field.field or 'answer'}: expected {wrong_field.expected}"
        if not complaint:
            return found
        complaints.append(complaint := complaint[:_MOST_SHOWN])
        trail.refused(question, complaint)
    raise NoAnswer(complaints)


def accepted(
    trail: Trail, phase: Phase, wanted: int, tries: int, write: Callable[[int, list[Work]], Work], none: str,
) -> list[Work]:
    """Return the results of `write`, given a number and the results kept so far, until enough are kept.

    There are at most so many `tries`. `write` raises NoAnswer. Raises NoWorld where nothing is kept; it says `none`.
    """
    kept, refused = list[Work](), Counter[str]()
    for number in range(tries):
        trail.at(phase, len(kept), wanted)
        if len(kept) == wanted:
            break
        try:
            kept.append(write(number, kept))
            trail.tried(number, "")
        except NoAnswer as error:
            refused[str(error)] += 1
            trail.tried(number, str(error))
    trail.at(phase, len(kept), wanted)
    if not kept:
        raise NoWorld(none, [f"{count} times: {why}" for why, count in refused.most_common()])
    return kept
