"""Every domain has tools that do as their second statement says, and domains differ in more than words."""

import ast
import random

import pytest

from hone.environments.packages.local_runner import LocalRunner
from hone.environments.synthesis.domain import ARCHETYPES, Blueprint
from hone.environments.synthesis.graph import dead_ends, expand
from hone.environments.synthesis.hints import theme_of
from hone.environments.synthesis.tester import Verdict, findings, proven, source_text
from hone.environments.synthesis.themes import THEMES

DERIVED = ("bee keeping", "dragon eggs", "solar panel cleaning", "stamp")


def domain(name: str) -> Blueprint:
    return Blueprint(THEMES[name] if name in THEMES else theme_of(name))


@pytest.mark.parametrize("name", [*THEMES, *DERIVED])
def test_every_tool_passes_its_cases(name: str) -> None:
    made = domain(name)
    cases = made.cases(random.Random(1))
    found = proven(LocalRunner(), made.manifest, {key: draft.source for key, draft in made.drafts.items()}, cases)
    assert found.dropped == {}
    assert {one.verdict for one in found.findings} == {Verdict.SUCCESS, Verdict.REJECTED}
    assert len(cases) >= sum(1 + len(draft.guards) for draft in made.drafts.values())
    assert len(made.drafts) == len(made.theme.tools), "no two archetypes share a tool's name"


@pytest.mark.parametrize("name", [*THEMES, *DERIVED])
def test_a_domain_is_as_large_as_was_asked_and_has_no_dead_end(name: str) -> None:
    made = domain(name)
    tools = made.manifest.tools
    assert len(tools) >= (16 if name in THEMES else 13)
    assert 3 <= len(made.manifest.tables) <= 7
    assert dead_ends(tools) == []
    assert set(expand(tools, [], len(tools))) == {tool.name for tool in tools}
    columns = [column for table in made.manifest.tables for column in table.columns]
    assert {column.kind for column in columns} == {"exempt", "hard", "semantic"}
    assert {column.references for column in columns if column.references} <= {
        table.name for table in made.manifest.tables}


def test_domains_differ_in_tools_rules_and_words() -> None:
    assert len(THEMES) >= 10
    assert len({theme.tools for theme in THEMES.values()}) == len(THEMES)
    assert len({theme.rules for theme in THEMES.values()}) >= 8
    assert {name for theme in THEMES.values() for name in theme.tools} == set(ARCHETYPES)
    assert len({theme.record for theme in THEMES.values()}) == len(THEMES)


def test_the_code_is_functions_of_tables_and_arguments_alone() -> None:
    for name in THEMES:
        tree = ast.parse(source_text({key: draft.source for key, draft in domain(name).drafts.items()}))
        assert {type(node) for node in tree.body[1:]} == {ast.FunctionDef}
        assert not any(isinstance(node, ast.Import | ast.ImportFrom | ast.Global) for node in ast.walk(tree))
        assert all(len(line) <= 120 for line in ast.unparse(tree).splitlines() if "raise" in line)


def test_a_bug_in_a_generated_tool_is_found_by_its_cases() -> None:
    made = domain("hotel")
    cases = [case for case in made.cases(random.Random(1)) if case.tool == "pay_booking"]
    source = made.drafts["pay_booking"].source
    for old, new in (('["price"] *', '["price"] +'), ('booking["paid"] = True', "pass"),
                     ('"amount": amount', '"amount": amount + 1'), ('guest["balance"] < amount', "False")):
        assert old in source
        found = findings(LocalRunner(), made.manifest, source.replace(old, new), cases)
        assert Verdict.UNEXPECTED in {one.verdict for one in found}, old
