"""Tests that are Python's assert statements, as in MBPP (arXiv 2108.07732): the value is computed, and compared here.

    assert f(1, (2, 3)) == [4]        the program's process gets "f(1, (2, 3))", and never what it is compared with
"""

import ast
import inspect
from typing import Any

_FORMS = ("an assertion whose expected side is a literal, such as assert f(1) == [2], or assert f(1), assert not f(1); "
          "any other comparison would show the expected value to the program")


class NoAssertion(ValueError):
    """A text is no assertion that can be held back."""


def value_held_for_its_test(value: Any) -> Any:
    """Return a value as JSON that says what JSON does not: tuples, sets, and keys that are no texts."""
    import builtins as python
    if python.isinstance(value, python.list | python.tuple | python.set | python.frozenset):
        found = [value_held_for_its_test(one) for one in value]
        kind = "list" if python.isinstance(value, python.list) else (
            "tuple" if python.isinstance(value, python.tuple) else "set")
        return {kind: python.sorted(found, key=python.repr) if kind == "set" else found}
    if python.isinstance(value, python.dict):
        pairs = [[value_held_for_its_test(key), value_held_for_its_test(one)] for key, one in value.items()]
        return {"dict": python.sorted(pairs, key=python.repr)}
    plain = value is None or python.isinstance(value, python.bool | python.int | python.float | python.str)
    return value if plain else {"other": python.repr(value)}


def source(entry: str) -> str:
    """Return Python that stands behind a program: a function of this name that gives the value of an expression."""
    held = inspect.getsource(value_held_for_its_test).replace(": Any", "").replace(" -> Any", "")
    return (f"\n\n{held}\n\ndef {entry}(expression):\n"
            f"    return value_held_for_its_test(__import__('builtins').eval(expression, globals()))\n")


def read(text: str) -> tuple[str, Any]:
    """Return the expression of an assertion, and the value that it has to have, in JSON. Raises NoAssertion."""
    try:
        [statement] = ast.parse(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NoAssertion(f"a single Python assertion ({error})") from None
    if not isinstance(statement, ast.Assert):
        raise NoAssertion("a single Python assertion")
    return _held(statement.test)


def split(text: str) -> list[str]:
    """Return the assertions of a text that holds nothing else. Raises NoAssertion."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NoAssertion(f"assertions of Python ({error})") from None
    return [ast.unparse(statement) for statement in body]


def _held(test: ast.expr) -> tuple[str, Any]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _plain_call(test.operand):
        return f"True if {ast.unparse(test.operand)} else False", False
    if _plain_call(test):
        return f"True if {ast.unparse(test)} else False", True
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        for asked, expected in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
            if _calls(asked) and not _calls(expected):
                return ast.unparse(asked), value_held_for_its_test(_literal(expected))
    raise NoAssertion(_FORMS)


def _literal(expected: ast.expr) -> Any:
    try:
        return ast.literal_eval(expected)
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise NoAssertion(_FORMS) from None


def _calls(expression: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(expression))


def _plain_call(expression: ast.expr) -> bool:
    """Return whether an expression is a call of something by arguments that call nothing."""
    return isinstance(expression, ast.Call) and not any(
        _calls(one) for one in (expression.func, *expression.args, *(word.value for word in expression.keywords)))
