"""The procedural tester: which tools do as their cases say. After ScaleEnv, arXiv 2602.06820, phase 1, step 5.

A case has one of three outcomes: success (the state after it is the expected one, by the classes of its columns), an
anticipated rejection, or an unexpected failure, which is everything else. Tools with unexpected failures are repaired
or dropped. At most 5 rounds of repair are a reconstruction: the paper gives no number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from hone.environments.packages.calling import Called, PackageCall, Runner, called
from hone.environments.packages.package import Manifest, Package, Tables, ToolSpec, ToolTest
from hone.environments.packages.state_check import mismatches

MOST_REPAIRS = 5
_LONGEST_REASON = 600
HEAD = '"""Tools of an environment package. Each gets the tables and its arguments; `Rejected` refuses a call."""\n'


class Verdict(StrEnum):
    """Result of a case."""

    SUCCESS = "success"
    REJECTED = "anticipated rejection"
    UNEXPECTED = "unexpected failure"


@dataclass(frozen=True)
class Finding:
    """Result of a case of a tool."""

    tool: str
    case: ToolTest
    verdict: Verdict
    reason: str = ""  # of an unexpected failure


@dataclass(frozen=True)
class Mended:
    """A new source of a tool's function, and its cases: the same, or mended ones."""

    source: str
    cases: Sequence[ToolTest]


class Repairer(Protocol):
    """Mends a tool: a model, or in tests a list of answers."""

    def repaired(
        self, tool: ToolSpec, source: str, cases: Sequence[ToolTest], findings: Sequence[Finding],
    ) -> Mended | None:
        """Return a new source of the tool's function, or mended cases; None: it gives up."""


@dataclass
class Proven:
    """Tools that passed with their sources and cases, and why the others were dropped."""

    sources: dict[str, str] = field(default_factory=dict)
    cases: dict[str, list[ToolTest]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    rounds: dict[str, list[list[str]]] = field(default_factory=dict)  # what was unexpected, by tool and round
    findings: list[Finding] = field(default_factory=list)  # of the last round of each tool


def source_text(sources: Mapping[str, str]) -> str:
    """Return `tools.py` of the tools' functions."""
    return "\n\n".join([HEAD, *(text.strip("\n") + "\n" for text in sources.values())])


def findings(runner: Runner, manifest: Manifest, source: str, cases: Sequence[ToolTest]) -> list[Finding]:
    """Return the result of each case. Every call is made twice. Raises ToolsLost.

    The cases of one tool belong in one call of this function: one that never ends takes those after it along.
    """
    calls = [PackageCall(case.tables, case.tool, case.arguments, step=1) for case in cases]
    outcomes = called(runner, Package(manifest, source, ()), [*calls, *calls])
    specs = {tool.name: tool for tool in manifest.tools}
    return [_finding(manifest, specs[case.tool], case, first, second)
            for case, first, second in zip(cases, outcomes, outcomes[len(calls):], strict=False)]


def _finding(manifest: Manifest, tool: ToolSpec, case: ToolTest, first: Called, second: Called) -> Finding:
    reason = _unexpected(manifest, tool, case, first)
    if not reason and second.failed is not None:
        reason = _unexpected(manifest, tool, case, second)
    if not reason and first != second:
        reason = "the same call did something else the second time"
    if reason:
        return Finding(tool.name, case, Verdict.UNEXPECTED, reason[:_LONGEST_REASON])
    return Finding(tool.name, case, Verdict.REJECTED if case.expected is None else Verdict.SUCCESS)


def _unexpected(manifest: Manifest, tool: ToolSpec, case: ToolTest, found: Called) -> str:
    """Return why a call is an unexpected failure; empty: it is none."""
    if found.failed is not None:
        return f"it failed: {found.failed.strip().rpartition(chr(10))[2]}"
    if case.expected is None:
        return "" if found.rejected is not None else "it accepted a call that it has to reject"
    if found.rejected is not None:
        return f"it rejected a call that it has to accept: {found.rejected}"
    if undeclared := _written(case.tables, found.tables) - set(tool.writes):
        return f"it writes {', '.join(sorted(undeclared))}, which it does not declare"
    wrong = mismatches(manifest, found.tables, case.expected)
    return f"the state is not the expected one: {wrong[0]}" if wrong else ""


def _written(before: Tables, after: Tables) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def proven(
    runner: Runner, manifest: Manifest, sources: Mapping[str, str], cases: Sequence[ToolTest],
    repairer: Repairer | None = None,
) -> Proven:
    """Test every tool by itself, repair those that fail, and return those that pass. Raises ToolsLost."""
    found = Proven()
    for tool in manifest.tools:
        own = [case for case in cases if case.tool == tool.name]
        prove(runner, manifest, tool, Mended(sources.get(tool.name, ""), own), repairer, found)
    return found


def prove(
    runner: Runner, manifest: Manifest, tool: ToolSpec, written: Mended, repairer: Repairer | None, into: Proven,
) -> None:
    """Test one tool, and have it repaired, at most five times, where it fails. Raises ToolsLost."""
    if why := _untestable(written.source, written.cases):
        into.dropped[tool.name] = why
        return
    rounds = into.rounds.setdefault(tool.name, [])
    for repairs in range(MOST_REPAIRS + 1):
        last = findings(runner, manifest, source_text({tool.name: written.source}), written.cases)
        wrong = [one for one in last if one.verdict is Verdict.UNEXPECTED]
        rounds.append([one.reason for one in wrong])
        if not wrong:
            into.sources[tool.name], into.cases[tool.name] = written.source, list(written.cases)
            break
        mended = repairer.repaired(tool, written.source, written.cases, wrong) if (
            repairer and repairs < MOST_REPAIRS) else None
        if mended is None:
            into.dropped[tool.name] = wrong[0].reason
            break
        written = mended
    into.findings += last


def _untestable(source: str, cases: Sequence[ToolTest]) -> str:
    if not source.strip():
        return "it has no code"
    if not cases:
        return "it has no case"
    if all(case.expected is None for case in cases):
        return "all its cases are rejections: it can do nothing"
    return ""
