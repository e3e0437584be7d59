"""What tests share lies in plain modules: to import it runs no other test's module."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
MODULE_OF_TESTS = re.compile(r"tests\.(\w+\.)*test_\w+(\.|$)")


def imported(text: str) -> Iterator[str]:
    """Yield the dotted names that a module imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def of_tests(text: str) -> list[str]:
    return [name for name in imported(text) if MODULE_OF_TESTS.match(name)]


def test_no_module_of_tests_is_imported() -> None:
    found = {str(path.relative_to(TESTS)): names
             for path in sorted(TESTS.rglob("*.py")) if (names := of_tests(path.read_text()))}
    assert found == {}, "expected what tests share in tests/support"


def test_each_way_to_import_a_module_of_tests_is_seen() -> None:
    ways = ("import tests.unit.test_a", "from tests.unit.test_a import b", "from tests.unit import test_a as a")
    assert [of_tests(way) for way in ways] == [["tests.unit.test_a"], ["tests.unit.test_a.b"], ["tests.unit.test_a"]]
    assert of_tests("from tests.support.gateway import roles\nfrom tests.servers.gate import tests_of") == []
