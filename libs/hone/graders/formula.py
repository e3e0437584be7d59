"""The formula that joins the scores of several graders: `(a + b) / 2`. It is parsed here and never run as Python.

From the loosest to the tightest: `+` and `-`; `*` and `/`; the sign before a value; `^`. Operators of one kind are
applied from the left, `^` from the right: `2^3^2` is 2^9. A sign is looser than `^`: `-2^2` is -4. The exponent may
have a sign of its own: `2^-1` is 0.5. `log` is the natural logarithm, `0^0` is 1.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from hone.graders.contract import Bounds
from hone.graders.formula_operations import EVERYTHING, FUNCTIONS, NEGATIVE, OPERATORS, Operation

LONGEST, DEEPEST = 2000, 50
"""Characters of a formula, and levels of brackets, signs and exponents inside each other."""

_TOKEN = re.compile(r"\s*(?:((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|([A-Za-z_][A-Za-z0-9_]*)"
                    r"|([-+*/^(),])|(\S))")


class FormulaError(ValueError):
    """A formula cannot be read, or has no finite value. The message begins with the kind of the error."""


def _wrong(reason: str) -> FormulaError:
    return FormulaError(f"formula_parse_error: {reason}")


@dataclass(frozen=True)
class Applied:
    """An operation on the last values, as many as `count`."""

    operation: Operation
    count: int


Step = float | str | Applied
"""A number, the name of a value, or an operation on the values before it."""


@dataclass(frozen=True)
class Formula:
    """A formula in the order in which it is computed: operations come after their values."""

    text: str
    steps: tuple[Step, ...]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the values that it reads."""
        return frozenset(step for step in self.steps if isinstance(step, str))

    def value(self, values: Mapping[str, float]) -> float:
        """Return the finite value. Raises FormulaError for a name without a value, and where there is none."""
        stack = list[float]()
        for step in self.steps:
            match step:
                case str():
                    stack.append(_named(step, values))
                case Applied(operation, count):
                    stack[-count:] = [_applied(operation, stack[-count:])]
                case _:
                    stack.append(step)
        return stack[0]

    def bounds(self, of: Mapping[str, Bounds]) -> Bounds:
        """Return an interval with every value of the formula, for values inside these intervals.

        An end is infinite where nothing is known, for instance behind a division by what may be 0.
        """
        stack = list[Bounds]()
        for step in self.steps:
            match step:
                case str():
                    stack.append(of[step])
                case Applied(operation, count):
                    stack[-count:] = [_known(operation.bounds(stack[-count:]))]
                case _:
                    stack.append((step, step))
        return stack[0]


def parsed(text: str) -> Formula:
    """Return the formula in a text. Raises FormulaError, which says what was found where."""
    if len(text) > LONGEST:
        raise _wrong(f"found {len(text)} characters, expected at most {LONGEST}")
    return Formula(text, tuple(_Parser(text).all()))


def _named(name: str, values: Mapping[str, float]) -> float:
    if name not in values:
        raise FormulaError(f"invalid_variable_error: {name} is not among {', '.join(sorted(values))}")
    return values[name]


def _applied(operation: Operation, values: list[float]) -> float:
    try:
        result = operation.value(values)
    except (ArithmeticError, ValueError) as error:
        raise _wrong(f"{operation.name} of {_shown(values)}: {error}") from error
    if isinstance(result, complex) or not math.isfinite(result):
        raise _wrong(f"{operation.name} of {_shown(values)} is not a finite real number")
    return float(result)


def _shown(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _known(bounds: Bounds) -> Bounds:
    return EVERYTHING if any(map(math.isnan, bounds)) else bounds


class _Parser:
    """Recursive descent over the tokens of a text. Each method returns the steps of what it read."""

    def __init__(self, text: str) -> None:
        self._tokens = [(found[found.lastindex or 0], found.start(found.lastindex or 0))
                        for found in _TOKEN.finditer(text)]
        self._place, self._depth, self._end = 0, 0, len(text)

    def all(self) -> list[Step]:
        steps = self._sum()
        if self._next:
            raise self._unexpected("an operator or the end")
        return steps

    @property
    def _next(self) -> str:
        return self._tokens[self._place][0] if self._place < len(self._tokens) else ""

    def _taken(self, *known: str) -> str:
        """Return the next token if it is one of these, and step over it; else an empty text."""
        token = self._next
        if token not in known:
            return ""
        self._place += 1
        return token

    def _unexpected(self, expected: str) -> FormulaError:
        at = self._tokens[self._place][1] if self._next else self._end
        return _wrong(f"found {self._next or 'the end'} at character {at + 1}, expected {expected}")

    def _sum(self) -> list[Step]:
        steps = self._product()
        while operator := self._taken("+", "-"):
            steps += [*self._product(), Applied(OPERATORS[operator], 2)]
        return steps

    def _product(self) -> list[Step]:
        steps = self._signed()
        while operator := self._taken("*", "/"):
            steps += [*self._signed(), Applied(OPERATORS[operator], 2)]
        return steps

    def _signed(self) -> list[Step]:
        """Read a power with any number of signs before it. Every level of the formula passes here."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise _wrong(f"found more than {DEEPEST} levels, expected fewer brackets, signs and exponents")
        sign = self._taken("+", "-")
        steps = self._signed() if sign else self._power()
        self._depth -= 1
        return [*steps, Applied(NEGATIVE, 1)] if sign == "-" else steps

    def _power(self) -> list[Step]:
        base = self._atom()
        return [*base, *self._signed(), Applied(OPERATORS["^"], 2)] if self._taken("^") else base

    def _atom(self) -> list[Step]:
        if self._taken("("):
            return self._closed(self._sum())
        token = self._next
        if not token or token[0] not in _BEGINS:
            raise self._unexpected("a number, a name or an opening bracket")
        self._place += 1
        if token[0] in _DIGITS:
            return [_number(token)]
        return self._function(token) if self._taken("(") else [token]

    def _closed(self, steps: list[Step]) -> list[Step]:
        if not self._taken(")"):
            raise self._unexpected("a closing bracket or an operator")
        return steps

    def _function(self, name: str) -> list[Step]:
        if name not in FUNCTIONS:
            raise FormulaError(f"invalid_variable_error: found the function {name}, expected one of "
                               f"{', '.join(FUNCTIONS)}")
        steps, count = self._sum(), 1
        while self._taken(","):
            steps, count = [*steps, *self._sum()], count + 1
        operation = FUNCTIONS[name]
        if operation.single and count > 1:
            raise _wrong(f"found {count} values in {name}(…), expected a single value")
        return [*self._closed(steps), Applied(operation, count)]


_DIGITS = frozenset("0123456789.")
_BEGINS = _DIGITS | frozenset("_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def _number(token: str) -> float:
    try:
        value = float(token)
    except ValueError:  # a lone point
        raise _wrong(f"found {token}, expected a number") from None
    if not math.isfinite(value):
        raise _wrong(f"found {token[:20]}, expected a number that is not beyond all bounds")
    return value
