r"""The structure of an answer: a list, a set, a point, an interval, a relation, a matrix, or one value with a unit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hone.graders.algebra.units import Unit, split
from hone.graders.algebra.values import Unreadable, has_decimals

MAX_MEMBERS = 200


@dataclass(frozen=True)
class Scalar:
    """One expression, in TeX without its unit; `whole` has the unit, which may be a variable of the expression."""

    tex: str
    unit: Unit | None
    whole: str

    @property
    def decimal(self) -> bool:
        return has_decimals(self.tex)


@dataclass(frozen=True)
class Words:
    """A word, in small letters."""

    text: str


@dataclass(frozen=True)
class Members:
    """Several answers. `kind`: bare (3, 5), set, tuple (3, 5), square [3, 5], half (3, 5], or or/and between relations.

    `ends` are the brackets around them.
    """

    kind: str
    members: tuple["Structure", ...]
    ends: str = ""


@dataclass(frozen=True)
class Named:
    """A name and its value: x = 5."""

    name: str
    value: "Structure"


@dataclass(frozen=True)
class Relation:
    """Sides in TeX, and the relations between them: 1 < x <= 2. Relations are =, <, >, <=, >=, != and ~ (about)."""

    sides: tuple[str, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True)
class Combined:
    r"""Sets under an operation: union, intersection or difference (\setminus)."""

    operation: str
    parts: tuple["Structure", ...]


@dataclass(frozen=True)
class Everything:
    """All real numbers."""


@dataclass(frozen=True)
class Empty:
    """The empty set; also a statement that there is no solution."""


@dataclass(frozen=True)
class Matrix:
    """Rows of cells."""

    rows: tuple[tuple["Structure", ...], ...]


Structure = Scalar | Words | Members | Named | Relation | Combined | Everything | Empty | Matrix

_SIGNS = {"=": "=", "<": "<", ">": ">", r"\le": "<=", r"\ge": ">=", r"\ne": "!=", r"\approx": "~"}
_SIGN = re.compile(r"\\(?:le|ge|ne|approx)(?![A-Za-z])|[=<>]")
_DEPTH = re.compile(r"\\(?:begin|langle)(?![A-Za-z])|\\(?:end|rangle)(?![A-Za-z])|\\[{}]|\\[A-Za-z]+|\\\\|[\[\](){}]")
_OPENS, _CLOSES = {"(", "[", "{", r"\{", r"\begin", r"\langle"}, {")", "]", "}", r"\}", r"\end", r"\rangle"}
_EMPTY = re.compile(r"\\emptyset|\\\{\s*\\?\s*\\\}|\\text\{\s*\\\{\s*\\\}\s*\}|\{\s*\}")
_EMPTY_WORDS = re.compile(r"(?:the )?(?:empty|null) set|(?:there (?:is|are) )?no (?:real )?solutions?(?: exists?)?")
_ALL_WORDS = re.compile(r"(?:all |the )?(?:real numbers|reals)|all real(?: numbers)? [a-z]|all reals")
_ALL = re.compile(r"\\mathbb\{R\}")
_IN = re.compile(r"[A-Za-z](?:_\{\w+\})?\s*\\in(?![A-Za-z])\s*")
_NAME = re.compile(r"\\?[A-Za-z]+'?(?:_\{?[^{}=]{1,20}\}?)?(?:\([^()]{1,40}\))?"
                   r"|\\text\{[^{}]{1,60}\}(?:_\{?[^{}=]{1,20}\}?)?"
                   r"|m?\s*\\angle\s*[A-Za-z]+|\((?:\s*[A-Za-z](?:_\{\w+\})?\s*,)+\s*[A-Za-z](?:_\{\w+\})?\s*\)")
_WORDS = re.compile(r"\\text\{([^{}\\]*[^\W\d_][^{}\\]*)\}|([^\W\d_]{3,}(?:[ '-]+[^\W\d_]+)*)")
_QUOTED = re.compile(r"\\text\{([^{}]*[0-9][^{}]*)\}")
_THOUSANDS = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?>(?:,[0-9]{3})+)(?!,?[0-9])")
_BUILDER = re.compile(r"\\\{\s*[A-Za-z](?:\s*\\in\s*\\mathbb\{R\})?\s*[|:]\s*(.+)\\\}", re.DOTALL)
_MATRIX = re.compile(r"(?:[\[(]\s*)?\\begin\{(?:[pbB]?matrix|smallmatrix|array)\}(?:\{[lcr|\s]*\})?(.*)"
                     r"\\end\{(?:[pbB]?matrix|smallmatrix|array)\}(?:\s*[\])])?", re.DOTALL)
_REVERSED = re.compile(r"([\[\]])([^\[\]();]+)([,;])([^\[\]();,]+)([\[\]])")


def parsed(tex: str, depth: int = 0) -> Structure:
    """Return the structure of normal TeX. Raises Unreadable."""
    tex = _half_open(_unwrapped(tex))
    if not tex or depth > 12:
        raise Unreadable(tex[:100])
    if (match := _QUOTED.fullmatch(tex)) is not None:
        return parsed(match[1], depth + 1)
    for read in (_known_set, _connected, _listed, _related, _plus_minus, _enclosed):
        if (structure := read(tex, depth + 1)) is not None:
            return structure
    return _ratio(tex) or _single(tex)


def _unwrapped(tex: str) -> str:
    """Return TeX without braces around the whole."""
    tex = tex.strip()
    while tex.startswith("{") and _closing(tex, 0) == len(tex) - 1:
        tex = tex[1:-1].strip()
    return tex


def _known_set(tex: str, depth: int) -> Structure | None:
    words = " ".join(re.sub(r"\\text|[{}]", "", tex).rstrip(". ").lower().split())
    if _EMPTY.fullmatch(tex) or _EMPTY_WORDS.fullmatch(words):
        return Empty()
    if _ALL.fullmatch(tex) or _ALL_WORDS.fullmatch(words):
        return Everything()
    if (match := _IN.match(tex)) and not tex[match.end():].startswith(r"\mathbb{Z}"):
        return parsed(tex[match.end():], depth)
    if (match := _BUILDER.fullmatch(tex)) and _SIGN.search(match[1]):
        return parsed(match[1], depth)
    match = _MATRIX.fullmatch(tex)
    return _matrix(match[1], depth) if match and r"\begin" not in match[1] else None


def _matrix(content: str, depth: int) -> Matrix:
    rows = [row for row in re.split(r"\\\\(?:\s*\[[^\]]*\])?", content.replace(r"\hline", "")) if row.strip()]
    return Matrix(tuple(tuple(parsed(cell, depth) for cell in row.split("&")) for row in rows))


def _connected(tex: str, depth: int) -> Structure | None:
    """Read parts with `and` or `or` between them, and sets under operations."""
    for pattern, operation in ((r"\\lor(?![A-Za-z])", "or"), (r"\\land(?![A-Za-z])", "and")):
        parts = [part.strip(" ,;") for part in _parts(tex, pattern)]
        if len(parts) > 1:
            members = tuple(parsed(part, depth) for part in parts if part)
            flat = [one for member in members
                    for one in (member.members if isinstance(member, Members) and member.kind == "bare" else [member])]
            return Members(operation if all(map(is_condition, flat)) else "bare", tuple(flat))
    for pattern, operation in ((r"\\setminus(?![A-Za-z])", "difference"), (r"\\cup(?![A-Za-z])", "union"),
                               (r"\\cap(?![A-Za-z])", "intersection")):
        parts = _parts(tex, pattern)
        if len(parts) > 1:
            return Combined(operation, tuple(parsed(part, depth) for part in parts))
    return None


def _half_open(tex: str) -> str:
    """Return intervals with outward brackets, ]1, 2], with round ones, (1, 2]."""
    return _REVERSED.sub(lambda match: ("(" if match[1] == "]" else "[") + match[2] + match[3] + match[4]
                         + (")" if match[5] == "[" else "]"), tex) if re.match(r"\s*(?:\]|.*\[\s*$)", tex) else tex


def is_condition(structure: Structure) -> bool:
    """Return whether a structure is an inequality, such as x < 3, or an exclusion, such as x != 3."""
    return isinstance(structure, Relation) and any(sign not in "=~" for sign in structure.signs)


def _listed(tex: str, depth: int) -> Structure | None:
    for separator in (";", ","):
        parts = _parts(_without_thousands(tex) if separator == "," else tex, separator)
        parts = [part for part in parts if part.strip()]
        if len(parts) > 1:
            if len(parts) > MAX_MEMBERS:
                raise Unreadable(tex[:100])
            return Members("bare", tuple(parsed(part, depth) for part in parts))
    return None


def _without_thousands(tex: str) -> str:
    """Return TeX without the commas of 1,234. In brackets 1,234 is two numbers, unless others stand apart from it."""
    if re.match(r"\s*(?:\\\{|[(\[])", tex) and not re.search(r",\s|[;]", tex) and not re.search(r",0[0-9]", tex):
        return tex
    return _THOUSANDS.sub(lambda match: match[0].replace(",", ""), tex)


def _related(tex: str, depth: int) -> Structure | None:
    places = list(_outside(tex, _SIGN))
    if not places:
        return None
    starts, ends = [0, *(match.end() for match in places)], [*(match.start() for match in places), len(tex)]
    sides = tuple(_unwrapped(tex[start:end]) for start, end in zip(starts, ends, strict=True))
    signs = tuple(_SIGNS[match[0]] for match in places)
    if not all(sides):
        raise Unreadable(tex[:100])
    if len(signs) == 1 and signs[0] == "=":
        name, value = sides if _NAME.fullmatch(sides[0]) else sides[::-1]
        if _NAME.fullmatch(name):
            return Named(re.sub(r"\s|\\text|[{}]", "", name), parsed(value, depth))
    if signs[0] == "=" and set(signs) <= {"=", "~"} and _NAME.fullmatch(sides[0]):
        return Named(re.sub(r"\s|\\text|[{}]", "", sides[0]), Relation(sides[1:], signs[1:]))
    return Relation(sides, signs)


def _plus_minus(tex: str, depth: int) -> Structure | None:
    if not re.search(r"\\(?:pm|mp)(?![A-Za-z])", tex) or tex.startswith(("(", "[", r"\{")):
        return None
    signs = (("+", "-"), ("-", "+"))
    return Members("bare", tuple(
        parsed(_with_signs(tex, upper, lower), depth) for upper, lower in signs))


def _with_signs(tex: str, upper: str, lower: str) -> str:
    chosen = re.sub(r"\\mp(?![A-Za-z])", lower, re.sub(r"\\pm(?![A-Za-z])", upper, tex))
    return chosen.lstrip().removeprefix("+")


def _enclosed(tex: str, depth: int) -> Structure | None:
    opening = next((mark for mark in (r"\{", r"\langle", "(", "[") if tex.startswith(mark)), "")
    closing = _closing(tex, 0) if opening else -1
    end = next((mark for mark in (r"\}", r"\rangle", ")", "]") if opening and tex.endswith(mark)), "")
    if not end or closing != len(tex) - len(end):
        return None
    content = tex[len(opening):closing].strip()
    joined = _without_thousands(tex)[len(opening):].strip()
    joined = joined[:len(joined) - len(end)]
    inner = parsed(joined, depth) if content else Empty()
    if isinstance(inner, Members) and inner.kind == "bare":
        ends = opening[-1] + end[-1]
        kind = "set" if opening == r"\{" else "half" if ends in ("(]", "[)") else "square" if ends == "[]" else "tuple"
        return Members(kind, inner.members, ends)
    if opening == r"\{":
        return Members("set", (inner,))
    if opening == "[" and isinstance(inner, Members):
        return Members("square", (inner,))
    return inner if not isinstance(inner, Scalar) else _single(tex)


def _ratio(tex: str) -> Structure | None:
    parts = _parts(tex, r":")
    if len(parts) < 2 or not all(part.strip() for part in parts):
        return None
    if len(parts) == 2:
        return _single(rf"\frac{{{parts[0].strip()}}}{{{parts[1].strip()}}}")
    first = parts[0].strip()
    return Members("tuple", tuple(_single(rf"\frac{{{part.strip()}}}{{{first}}}") for part in parts), "::")


def _single(tex: str) -> Structure:
    if match := _WORDS.fullmatch(tex):
        return Words(" ".join((match[1] or match[2]).rstrip(". ").casefold().split()))
    value, unit = split(tex)
    return Scalar(_unwrapped(value), unit, tex)


def _parts(tex: str, pattern: str) -> list[str]:
    """Return the parts of TeX between a pattern that stands outside of brackets."""
    parts, end = [], 0
    for match in _outside(tex, re.compile(pattern)):
        parts.append(tex[end:match.start()])
        end = match.end()
    return [*parts, tex[end:]]


def _outside(tex: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern outside of brackets."""
    depth, place = 0, 0
    for bracket in [*_DEPTH.finditer(tex), None]:
        end = len(tex) if bracket is None else bracket.start()
        if depth == 0:
            yield from pattern.finditer(tex, place, end)
        if bracket is not None:
            if depth == 0 and bracket[0] not in _OPENS | _CLOSES and (match := pattern.match(tex, bracket.start())):
                yield match
            depth = max(0, depth + (bracket[0] in _OPENS) - (bracket[0] in _CLOSES))
            place = bracket.end()


def _closing(tex: str, start: int) -> int:
    """Return the place of the bracket that closes the one at `start`, or -1."""
    depth = 0
    for bracket in _DEPTH.finditer(tex, start):
        depth += (bracket[0] in _OPENS) - (bracket[0] in _CLOSES)
        if depth <= 0:
            return bracket.start()
    return -1
