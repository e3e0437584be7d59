"""Who writes a domain that no generator knows: a model in the role `simulator`, or in tests a script.

Everything that an author says is JSON, is read against the package's own form, and proves itself: tools by their cases
in the sandbox, tasks by execution. The prompts of the paper (ScaleEnv, arXiv 2602.06820) are not known.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import Field, ValidationError

from hone.environments.contract import expectation
from hone.environments.packages.package import Manifest, Part, Tables, ToolSpec, ToolTest, ToolUse
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.tester import Finding
from hone.spec.parameters import Strict

ANSWERS = 3
"""Answers that an author gives to one question, before it counts as one that has none."""
Json = Mapping[str, Any]


class Author(Protocol):
    """Answers questions about a domain. `complaint` says what was wrong with the last answer; empty: there was none."""

    def schema(self, hint: str, complaint: str, /) -> Json:
        """Return a Manifest: domain, summary, policy, tables, tools. Its edges are computed."""

    def source(self, manifest: Manifest, tool: ToolSpec, complaint: str, /) -> Json:
        """Return the code of a tool, {"source": text}."""

    def cases(self, manifest: Manifest, tool: ToolSpec, complaint: str, /) -> Json:
        """Return cases of a tool, {"cases": [ToolTest, ...]}: calls that it accepts, and one for each rejection."""

    def repair(self, tool: ToolSpec, source: str, findings: Sequence[Finding], /) -> Json:
        """Return a new code of a tool whose cases failed, {"source": text}; an empty text gives up."""

    def chain(self, manifest: Manifest, number: int, complaint: str, /) -> Json:
        """Return a first state and a chain of calls for the task of this number, {"tables": ..., "chain": [...]}."""

    def instruction(
        self, manifest: Manifest, tables: Tables, chain: Sequence[ToolUse], results: Sequence[Any], /,
    ) -> Json:
        """Return the words of a task that was executed, {"instruction": text, "communicate": [text, ...]}."""


class Source(Strict):
    """Code of one tool."""

    source: str


class Cases(Strict):
    """Cases of one tool."""

    cases: list[ToolTest]


class WrittenChain(Strict):
    """A first state, and calls that solve a task on it."""

    tables: Tables
    chain: list[ToolUse] = Field(min_length=1, max_length=30)


class Words(Strict):
    """What a policy reads of a task, and what its answer has to say."""

    instruction: str = Field(min_length=1)
    communicate: list[str] = Field([])


class NoAnswer(Exception):
    """An author gave no answer that can be read. Holds what was wrong with each."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__(complaints[-1])
        self.complaints = complaints


def answered(
    model: type[Part], ask: Callable[[str], Json], wrong: Callable[[Part], str] = lambda _: "",
) -> Part:
    """Return the first of an author's answers that can be read and that `wrong` finds nothing in. Raises NoAnswer."""
    complaints = list[str]()
    for _ in range(ANSWERS):
        try:
            found = model.model_validate(ask(complaints[-1] if complaints else ""))
        except ValidationError as error:
            first = error.errors()[0]
            complaints.append(f"{'.'.join(map(str, first['loc'])) or 'answer'}: expected {expectation(first)}")
            continue
        if not (complaint := wrong(found)):
            return found
        complaints.append(complaint)
    raise NoAnswer(complaints)


def written_manifest(author: Author, hint: str) -> Manifest:
    """Return the description of the domain that an author makes of a hint. Raises NoWorld."""
    try:
        return answered(Manifest, lambda complaint: author.schema(hint, complaint), _wrong_manifest)
    except NoAnswer as error:
        raise NoWorld("no schema could be read", error.complaints) from error


def _wrong_manifest(manifest: Manifest) -> str:
    tables, tools = ([one.name for one in group] for group in (manifest.tables, manifest.tools))
    if len(set(tables)) < len(tables) or len(set(tools)) < len(tools):
        return "tables and tools need names of their own"
    unknown = {name for tool in manifest.tools for name in [*tool.reads, *tool.writes]} | {
        column.references for table in manifest.tables for column in table.columns if column.references}
    missing = sorted(unknown - set(tables))
    return f"tables: found no {missing[0]}, which is named elsewhere" if missing else ""


def wrong_source(tool: str, source: str) -> str:
    """Return what is wrong with the code of a tool; empty: nothing.

    All tools stand in one file, so code may hold imports, the tool's function and functions named `_TOOL_...` alone.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        return f"source: expected Python, found {error}"
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if tool not in functions:
        return f"source: expected a function {tool}, found {functions}"
    strange = [name for name in functions if name != tool and not name.startswith(f"_{tool}_")]
    others = [node for node in body if not isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom)]
    if strange or any(not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant) for node in others):
        found = ", ".join(strange) or "other code"
        return f"source: expected imports, {tool} and functions named _{tool}_... alone, found {found}"
    return ""
