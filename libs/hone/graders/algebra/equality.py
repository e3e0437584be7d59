"""Equality of two answers: the reference decides what is compared, and how."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hone.graders.algebra.structures import (
    Combined,
    Empty,
    Everything,
    Matrix,
    Members,
    Named,
    Relation,
    Scalar,
    Structure,
    Words,
    is_condition,
    parsed,
)
from hone.graders.algebra.units import ANGLE, NUMBER, PERCENT, Unit
from hone.graders.algebra.values import expression, has_decimals, ratio_is_constant, same

_REVERSE = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}
_SETS = (Members, Combined, Everything, Empty, Relation)


@dataclass(frozen=True)
class Equality:
    """Compares answers, decimals to `places` places."""

    places: int

    def holds(self, wanted: Structure, given: Structure) -> bool:
        """Return whether an answer equals the reference. Raises Unreadable."""
        for decide in (self._named, self._matrices, self._words, self._single):
            if (decided := decide(wanted, given)) is not None:
                return decided
        return (self._every_member(wanted, given) or self._relations(wanted, given) or self._members(wanted, given)
                or self._sets(wanted, given))

    def _named(self, wanted: Structure, given: Structure) -> bool | None:
        """Compare values with names. An answer may leave the name out, or name what the reference does not."""
        if not isinstance(wanted, Named) and not isinstance(given, Named):
            return None
        if isinstance(wanted, Named) and isinstance(given, Named) and wanted.name != given.name:
            return self._equations(_equation(wanted), _equation(given))
        if isinstance(wanted, Relation) or isinstance(given, Relation):
            return self._equations(_equation(wanted), _equation(given)) or self._values(wanted, given)
        return self._values(wanted, given)

    def _values(self, wanted: Structure, given: Structure) -> bool:
        return self.holds(wanted.value if isinstance(wanted, Named) else wanted,
                          given.value if isinstance(given, Named) else given)

    def _equations(self, wanted: Relation | None, given: Relation | None) -> bool:
        if wanted is None or given is None:
            return False
        one, other = (expression(relation.sides[0]) - expression(relation.sides[1]) for relation in (wanted, given))
        return bool(one.free_symbols == other.free_symbols) and ratio_is_constant(one, other, positive=False)

    def _words(self, wanted: Structure, given: Structure) -> bool | None:
        if not isinstance(wanted, Words) and not isinstance(given, Words):
            return None
        return isinstance(wanted, Words) and isinstance(given, Words) and wanted.text == given.text

    def _single(self, wanted: Structure, given: Structure) -> bool | None:
        if isinstance(wanted, Scalar) and isinstance(given, Scalar):
            return self._scalars(wanted, given)
        if isinstance(wanted, Scalar) and isinstance(given, Relation) and set(given.signs) <= {"=", "~"}:
            return self._chain(wanted, given)
        return None

    def _every_member(self, wanted: Structure, given: Structure) -> bool:
        """Return whether one value equals all of several: a hedge is right only if each of its parts is."""
        one, several = (wanted, given) if isinstance(wanted, Scalar) else (given, wanted)
        if not (isinstance(one, Scalar) and isinstance(several, Members) and several.kind in ("bare", "set")):
            return False
        return all(self.holds(one, member) for member in several.members)

    def _matrices(self, wanted: Structure, given: Structure) -> bool | None:
        if not isinstance(wanted, Matrix) and not isinstance(given, Matrix):
            return None
        one, other = _rows(wanted), _rows(given)
        if one is None or other is None:
            return False
        if not (isinstance(wanted, Matrix) and isinstance(given, Matrix)) and 1 in (len(one), len(one[0])):
            one, other = (_flat(rows) for rows in (one, other))  # a vector may be written as a tuple
        return [len(row) for row in one] == [len(row) for row in other] and all(
            self._pairwise(row, opposite) for row, opposite in zip(one, other, strict=True))

    def _pairwise(self, wanted: Sequence[Structure], given: Sequence[Structure]) -> bool:
        return len(wanted) == len(given) and all(map(self.holds, wanted, given))

    def _scalars(self, wanted: Scalar, given: Scalar) -> bool:
        if self._quantities(wanted, given):
            return True
        if wanted.whole == wanted.tex and given.whole == given.tex:
            return False
        # What looks like a unit may be a variable of the reference: 5 m.
        return wanted.whole.replace(" ", "") == given.whole.replace(" ", "") or (
            wanted.unit is None and self._expressions(wanted.whole, given.whole.replace(r"\text", "")))

    def _quantities(self, wanted: Scalar, given: Scalar) -> bool:
        one, other = wanted.unit, given.unit
        if one is not None and other is None and self._lettered_unit(wanted, given):
            return True
        if (one is None) == (other is None):
            return self._in_base_units(wanted, one or NUMBER, given, other or NUMBER)
        if self._expressions(wanted.tex, given.tex):  # the unit is left out
            return not _multiplies(one or other or NUMBER)
        free = one or other or NUMBER
        return bool(_is_number_like(free) or _multiplies(free)) and self._in_base_units(
            wanted, one or NUMBER, given, other or NUMBER, free=True)

    def _lettered_unit(self, wanted: Scalar, given: Scalar) -> bool:
        """Return whether 5m is the 5 m of the reference."""
        spaced = given.tex.rstrip("mgshLlNJWVKAt")
        letter = given.tex[len(spaced):]
        if len(letter) != 1 or not spaced[-1:].isdigit():
            return False
        again = parsed(f"{spaced} {letter}")
        return isinstance(again, Scalar) and again.unit == wanted.unit and self._expressions(wanted.tex, again.tex)

    def _in_base_units(self, wanted: Scalar, one: Unit, given: Scalar, other: Unit, free: bool = False) -> bool:
        if one == other:
            return self._expressions(wanted.tex, given.tex)
        if one.dimensions != other.dimensions and not (free or (_is_number_like(one) and _is_number_like(other))):
            return False
        return self._expressions(wanted.tex, given.tex, _factor(one), _factor(other))

    def _expressions(self, wanted: str, given: str, one: Any = 1, other: Any = 1) -> bool:
        places = self.places if has_decimals(wanted) or has_decimals(given) else None
        return same(expression(wanted) * one, expression(given) * other, places)

    def _chain(self, wanted: Scalar, given: Relation) -> bool:
        """Return whether an answer such as 10/2 = 5 or π ≈ 3.14 is true and names the reference."""
        sides = [parsed(side) for side in given.sides]
        if not all(isinstance(side, Scalar) for side in sides):
            return False
        agree = all(self.holds(one, other) if sign == "=" else _is_about(one, other)
                    for one, sign, other in zip(sides, given.signs, sides[1:], strict=False))
        return agree and any(self.holds(wanted, side) for side in sides)

    def _relations(self, wanted: Structure, given: Structure) -> bool:
        if not isinstance(wanted, Relation) or not isinstance(given, Relation):
            return False
        if len(wanted.signs) != 1 or len(given.signs) != 1:
            return False
        if given.signs != wanted.signs:
            given = Relation(given.sides[::-1], (_REVERSE.get(given.signs[0], ""),))
        if given.signs != wanted.signs:
            return False
        one, other = (expression(relation.sides[0]) - expression(relation.sides[1]) for relation in (wanted, given))
        return ratio_is_constant(one, other, positive=wanted.signs[0] not in ("=", "!="))

    def _members(self, wanted: Structure, given: Structure) -> bool:
        if not isinstance(wanted, Members) or not isinstance(given, Members):
            return False
        kinds = {wanted.kind, given.kind}
        if kinds <= {"bare", "set", "or"}:
            return self._unordered(wanted.members, given.members)
        return _may_be_paired(wanted, given) and self._pairwise(wanted.members, given.members)

    def _unordered(self, wanted: Sequence[Structure], given: Sequence[Structure]) -> bool:
        if len(wanted) != len(given):
            return False
        left = list(given)
        for member in wanted:
            place = next((place for place, other in enumerate(left) if self.holds(member, other)), None)
            if place is None:
                return False
            del left[place]
        return True

    def _sets(self, wanted: Structure, given: Structure) -> bool:
        if not (isinstance(wanted, _SETS) and isinstance(given, _SETS)):
            return False
        one, other = _real_set(wanted), _real_set(given)
        if one is None or other is None or len(_variables(wanted) | _variables(given)) > 1:
            return False
        return bool(one == other) or bool((one - other).is_empty and (other - one).is_empty)


def _may_be_paired(wanted: Members, given: Members) -> bool:
    """Return whether members are compared in their order: (3, 5) with 3, 5, but not with an interval or a set."""
    kinds = {wanted.kind, given.kind}
    if "half" in kinds:
        return wanted.ends == given.ends
    if kinds & {"set", "or", "and"} or (wanted.ends == "::") != (given.ends == "::"):
        return False
    is_interval = len(wanted.members) == 2 and "square" in kinds
    return not is_interval or kinds == {"square"} or (kinds == {"bare", "square"} and given.kind == "square")


def _equation(structure: Structure) -> Relation | None:
    if isinstance(structure, Named) and isinstance(structure.value, Scalar):
        return Relation((structure.name, structure.value.whole), ("=",))
    return structure if isinstance(structure, Relation) and structure.signs == ("=",) else None


def _rows(structure: Structure) -> tuple[tuple[Structure, ...], ...] | None:
    if isinstance(structure, Matrix):
        return structure.rows
    if not isinstance(structure, Members) or structure.kind not in ("tuple", "square", "bare"):
        return None
    if all(isinstance(member, Members) and member.kind in ("tuple", "square") for member in structure.members):
        return tuple(member.members for member in structure.members if isinstance(member, Members))
    return (structure.members,)


def _flat(rows: tuple[tuple[Structure, ...], ...]) -> tuple[tuple[Structure, ...], ...]:
    return (tuple(cell for row in rows for cell in row),)


def _multiplies(unit: Unit) -> bool:
    """Return whether leaving out the unit changes the number: dozen, million."""
    return not unit.dimensions and unit.factor > 1


def _is_number_like(unit: Unit) -> bool:
    return set(unit.dimensions) <= {PERCENT, ANGLE}


def _factor(unit: Unit) -> Any:
    import sympy

    factor = sympy.Rational(unit.factor.numerator, unit.factor.denominator)
    return factor * sympy.pi / 180 if unit.dimensions == {ANGLE: 1} else factor


def _is_about(one: Structure, other: Structure) -> bool:
    """Return whether the second is a rounding of the first: within half a unit of its last place."""
    import sympy

    if not (isinstance(one, Scalar) and isinstance(other, Scalar)):
        return False
    places = len(other.tex.partition(".")[2].rstrip("}) "))
    difference = sympy.N(expression(one.tex) - expression(other.tex), 30)
    return bool(difference.is_Number and abs(difference) < sympy.Rational(1, 2 * 10**min(places, 30)))


def _variables(structure: Structure) -> set[str]:
    """Return the names of the variables of inequalities."""
    if isinstance(structure, Relation):
        return {str(symbol) for side in structure.sides for symbol in expression(side).free_symbols}
    if isinstance(structure, Members) and structure.kind in ("or", "and", "bare"):
        return {name for member in structure.members for name in _variables(member)}
    return set()


def _real_set(structure: Structure) -> Any:
    """Return a structure as a set of real numbers, or None where it is not one."""
    import sympy

    if isinstance(structure, Empty):
        return sympy.S.EmptySet
    if isinstance(structure, Everything):
        return sympy.S.Reals
    if isinstance(structure, Relation):
        return _solutions(structure)
    if isinstance(structure, Combined):
        return _combined(structure.operation, [_real_set(part) for part in structure.parts])
    if isinstance(structure, Members):
        return _members_as_set(structure)
    return None


def _members_as_set(structure: Members) -> Any:
    import sympy

    if structure.kind in ("or", "and") or (structure.kind == "bare" and all(map(is_condition, structure.members))):
        sets = [_real_set(member) for member in structure.members]
        if structure.kind == "bare" and None not in sets:  # `x < 1, x > 3` is a union, `x > 1, x < 3` is not
            apart = all(one.is_disjoint(other) for place, one in enumerate(sets) for other in sets[:place])
            return _combined("union" if apart else "intersection", sets)
        return _combined("union" if structure.kind == "or" else "intersection", sets)
    if structure.kind == "set":
        values = [expression(member.tex) for member in structure.members if isinstance(member, Scalar)]
        return sympy.FiniteSet(*values) if len(values) == len(structure.members) else None
    if structure.kind in ("tuple", "square", "half") and len(structure.members) == 2:
        low, high = structure.members
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            ends = structure.ends[0] != "[", structure.ends[1] != "]"
            return _interval(expression(low.tex), expression(high.tex), *ends)
    return None


def _combined(operation: str, sets: list[Any]) -> Any:
    import sympy

    if any(each is None for each in sets):
        return None
    if operation == "union":
        return sympy.Union(*sets)
    return sympy.Intersection(*sets) if operation == "intersection" else sets[0] - sympy.Union(*sets[1:])


def _interval(low: Any, high: Any, left_open: bool, right_open: bool) -> Any:
    import sympy

    low, high = low.doit(), high.doit()
    if low.free_symbols or high.free_symbols or not (low.is_extended_real and high.is_extended_real):
        return None
    return sympy.Interval(low, high, left_open, right_open)


def _solutions(relation: Relation) -> Any:
    """Return the numbers for which a chain such as 1 < x <= 2 holds, or None where x is not one variable by itself."""
    import sympy

    values = [expression(side) for side in relation.sides]
    if len(values) == 2 and not any(value.is_Symbol for value in values):
        return _solved(values[0] - values[1], relation.signs[0])
    variables = [place for place, value in enumerate(values) if value.is_Symbol]
    if len(variables) != 1 or any(value.free_symbols for place, value in enumerate(values) if place != variables[0]):
        return None
    found: Any = sympy.S.Reals
    for place, sign in enumerate(relation.signs):
        one, other = values[place], values[place + 1]
        if variables[0] not in (place, place + 1):
            return None
        bound, holds = (other, sign) if variables[0] == place else (one, _REVERSE.get(sign, "~"))
        if holds not in ("<", ">", "<=", ">=", "!=") or not bound.is_extended_real:
            return None
        found = found.intersect(_side(holds, bound))
    return found


def _solved(difference: Any, sign: str) -> Any:
    """Return the numbers for which a polynomial, or one of |x|, is below or above 0."""
    import sympy

    difference = difference.doit()
    if len(difference.free_symbols) != 1 or sign not in ("<", ">", "<=", ">="):
        return None
    variable = next(iter(difference.free_symbols))
    plain = difference.replace(sympy.Abs, lambda argument: argument)
    if not plain.is_polynomial(variable) or sympy.degree(plain, variable) > 4:
        return None
    real = sympy.Symbol("x", real=True)
    relations = {"<": sympy.Lt, ">": sympy.Gt, "<=": sympy.Le, ">=": sympy.Ge}
    try:
        return sympy.solve_univariate_inequality(
            relations[sign](difference.subs(variable, real), 0), real, relational=False)
    except NotImplementedError:
        return None


def _side(sign: str, bound: Any) -> Any:
    import sympy

    if sign == "!=":
        return sympy.S.Reals - sympy.FiniteSet(bound)
    if sign[0] == "<":
        return sympy.Interval(-sympy.oo, bound, True, sign == "<")
    return sympy.Interval(bound, sympy.oo, sign == ">", True)


def equal(wanted: Structure, given: Structure, places: int) -> bool:
    """Return whether an answer equals the reference; decimals may be rounded to `places` places."""
    return Equality(places).holds(wanted, given)

