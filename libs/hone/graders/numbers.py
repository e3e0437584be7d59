r"""Numbers as people write them: `1,234.5`, `1.234,5`, `1 234`, `-½`, `2 1/2`, `10^6`, `1.5×10^3`, `\frac{1}{2}`.

Values are exact fractions. Reading takes time linear in the length of the text, and makes no huge numbers.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

MAX_DIGITS = 900
"""A number of more digits, before or after the point, is not read."""

DecimalMark: TypeAlias = Literal["point", "comma"]

_ONE_FORM = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | str.maketrans({  # full-width forms, and:
    "−": "-", "﹣": "-", "‐": "-", "‑": "-", "–": "-", "﹢": "+", "⁄": "/", "∕": "/", "≈": "=", "≃": "=", "≅": "=",
    "،": ",", "٬": ",", "٫": ".", "٪": "%"})
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_ROUGHLY = re.compile(r"\\(?:approx|simeq|cong|doteq)(?![A-Za-z])")
_NO_VALUE = re.compile(r"\\(?!(?:[dtc]?frac|times|cdot|sqrt|pm|pi)(?![A-Za-z]))[A-Za-z]+"
                       r"|(?<![A-Za-z])(?:USD|EUR|GBP|CNY|INR|JPY|Rs\.?)(?=[ ]?[-\d])")

_VULGAR = {chr(code): Fraction(unicodedata.normalize("NFKC", chr(code)).replace("⁄", "/"))
           for code in (*range(0xBC, 0xBF), *range(0x2150, 0x215F), 0x2189)}
_SIGN_WORD = re.compile(r"(?<![A-Za-z])(?<![0-9)}\]][ ])(?:minus|negative)[ ](?=[$€£¥₹]?\.?[0-9])", re.IGNORECASE)
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SUPERSCRIPT = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")

_EXPONENT = r"(?:\{[ ]?[-+]?[0-9]+[ ]?\}|\([-+]?[0-9]+\)|[-+]?[0-9]+)"
_RAISED = rf"(?:(?:\^|\*\*)[ ]?{_EXPONENT}|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
_PART = r"(?:\{[ ]?-?(?>[0-9]+)(?:\.[0-9]+)?[ ]?\}|[0-9])"


def _grouped(separator: str) -> str:
    """Return a pattern for groups of three digits with one separator, not in the middle of a list."""
    return (rf"(?<![0-9]{separator})[1-9][0-9]{{0,2}}(?>(?:{separator}[0-9]{{3}})+)"
            rf"(?!(?:{separator})?[0-9])")


_POINT_DECIMALS, _COMMA_DECIMALS = r"(?:\.[0-9]+)?", r"(?:,[0-9]+)?"
_SPACES = r"[ \u00a0\u2007\u2009\u202f]"
_WITH_POINT = "|".join(_grouped(separator) + _POINT_DECIMALS for separator in (
    ",", r"\{,\}", r",\\!", r"\\[,;: ]", "[_'’]", "~"))
_WITH_SPACE = _grouped(_SPACES)
_PLAIN_POINT = r"(?:(?>[0-9]+)(?>\.[0-9]+)?|(?>\.[0-9]+))(?!\.[0-9])"  # 7.0.1 is no number
_CLEARLY_COMMA = (r"(?<![0-9]\.)[1-9][0-9]{0,2}(?>(?:\.[0-9]{3})+),(?>[0-9]+)(?![,.]?[0-9])"
                  r"|(?<![0-9]\.)[1-9][0-9]{0,2}(?>(?:\.[0-9]{3}){2,})(?!\.?[0-9])")
_PLAIN_COMMA = r"(?>[0-9]+)(?:(?:,|\{,\})[0-9]+)?"
_BODIES: dict[str, str] = {
    "point": rf"(?P<eu>{_CLEARLY_COMMA}|{_WITH_SPACE},[0-9]+)|(?P<en>{_WITH_POINT}|{_WITH_SPACE}{_POINT_DECIMALS}"
             rf"|{_PLAIN_POINT})",
    "comma": r"(?P<en>(?<![0-9],)[1-9][0-9]{0,2}(?>(?:,[0-9]{3})+)\.(?>[0-9]+)(?![,.]?[0-9]))"
             rf"|(?P<eu>{_grouped(chr(92) + '.')}{_COMMA_DECIMALS}|{_WITH_SPACE}{_COMMA_DECIMALS}|{_PLAIN_COMMA})",
}


def _pattern(body: str) -> re.Pattern[str]:
    simple = r"(?>[0-9]+)(?:\.[0-9]+)?"
    return re.compile(rf"""
        (?=[0-9.$€£¥₹+\-±√\\{"".join(_VULGAR)}]|(?<=[=:({{\[,])[ ]) (?:
        (?P<root>(?:\\sqrt|√)[ ]?[\[{{(]?[ ]?[0-9]+)
        | (?P<sign>(?<![A-Za-z0-9_)\]}}%])(?:[-+]|(?:±|\\pm)[ ]?)|(?<=[=:({{\[,])[ ]?[-+][ ])?(?:\\?[$€£¥₹][ ]?)?
        (?: \\[dtc]?frac[ ]?(?P<over>{_PART})[ ]?(?P<under>{_PART})
          | (?<![A-Za-z0-9_^])(?<![0-9]\.)(?<![_^]\{{) (?:
            (?P<tex_whole>(?>[0-9]+))[ ]?\\[dtc]?frac[ ]?(?P<tex_over>{_PART})[ ]?(?P<tex_under>{_PART})
          | (?:(?P<vulgar_whole>(?>[0-9]+))[ ]?)?(?P<vulgar>[{"".join(_VULGAR)}])
          | (?<!/)(?:(?P<whole>(?>[0-9]+))[ ])?(?P<numerator>{simple})[ ]?/[ ]?(?P<denominator>{simple})(?![ ]?/|[0-9])
          | (?:{body})
            (?: [eE](?P<exponent>[-+]?[0-9]+)(?![A-Za-z0-9_])
              | [ ]?(?:\\times|\\cdot|[×·⋅*xX])[ ]?10(?P<tens>{_RAISED})
              | (?P<power>{_RAISED}) )?
        )))
        (?P<scale>[ -](?:{"|".join(_SCALES)})\b)?
        (?:(?=[ ]?\\?(?P<percent>%|percent\b|per\ cent\b)))?
        (?:(?=[ ]?(?P<more>\^|\*\*(?=[\w({{])|\\sqrt|√|\\pi|π)))?
        """, re.VERBOSE)


_PATTERNS: dict[str, re.Pattern[str]] = {mark: _pattern(body) for mark, body in _BODIES.items()}


def legible(text: str) -> str:
    """Return a text of the same length with one form for digits, signs, full-width characters and equals signs."""
    plain = _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text.translate(_ONE_FORM))
    equal = _ROUGHLY.sub(lambda match: "=".rjust(len(match[0])), plain)
    signed = _SIGN_WORD.sub(lambda match: "-".rjust(len(match[0])), equal)
    return _NO_VALUE.sub(lambda match: " " * len(match[0]), signed)


@dataclass(frozen=True)
class Written:
    """A number in a text that `legible` returned, and its place there."""

    match: re.Match[str]

    @property
    def place(self) -> slice:
        """Where the number stands in the text, with its sign and currency and without blanks before them."""
        return slice(self.match.end() - len(self.match[0].lstrip()), self.match.end())

    @property
    def percent(self) -> bool:
        return self.match["percent"] is not None

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The number's values: one, or two with ±; none where it is too long, no number or part of an expression."""
        groups = self.match.groupdict()
        if groups["more"] or groups["root"]:
            return ()
        try:
            size = _size(groups)
        except (OverflowError, ZeroDivisionError):
            return ()
        if groups["scale"]:
            size *= _SCALES[groups["scale"][1:]]
        sign = (groups["sign"] or "").strip()
        return (-size,) if sign == "-" else (size,) if sign in ("", "+") else (size, -size)


def written(text: str, decimal_mark: DecimalMark = "point", start: int = 0) -> Iterator[Written]:
    """Yield the numbers of a legible text in order, from the place `start`."""
    return map(Written, _PATTERNS[decimal_mark].finditer(text, start))


def _size(groups: dict[str, str | None]) -> Fraction:
    """Return the number without its sign. Raises OverflowError for a number of too many digits."""
    if over := groups["over"] or groups["tex_over"]:
        return _whole(groups["tex_whole"]) + _part(over) / _part(groups["under"] or groups["tex_under"])
    if groups["vulgar"]:
        return _whole(groups["vulgar_whole"]) + _VULGAR[groups["vulgar"]]
    if groups["numerator"]:
        return _whole(groups["whole"]) + _decimal(groups["numerator"]) / _decimal(groups["denominator"] or "")
    eu, en = groups["eu"], groups["en"] or ""
    size = _decimal(re.sub(r"[^0-9.]", "", en)) if eu is None else _decimal(_with_point(eu))
    if groups["power"]:
        return _power(size, _exponent(groups["power"]))
    tens = groups["exponent"] or groups["tens"]
    return size * _power(Fraction(10), _exponent(tens)) if tens else size


def _with_point(european: str) -> str:
    return re.sub(r"[^0-9,]", "", european).replace(",", ".")


def _whole(digits: str | None) -> Fraction:
    return _decimal(digits or "0")


def _part(braced: str | None) -> Fraction:
    text = (braced or "").strip("{} ")
    return -_decimal(text[1:]) if text.startswith("-") else _decimal(text)


def _decimal(text: str) -> Fraction:
    whole, _, decimals = text.partition(".")
    if max(len(whole), len(decimals)) > MAX_DIGITS:
        raise OverflowError
    return Fraction(int(whole + decimals or "0"), 10 ** len(decimals))


def _exponent(raised: str | None) -> int:
    digits = re.sub(r"[^-+0-9]", "", (raised or "").translate(_SUPERSCRIPT))
    if len(digits) > 6:
        raise OverflowError
    return int(digits)


def _power(base: Fraction, exponent: int) -> Fraction:
    if base.numerator == 0 and exponent < 0:
        raise ZeroDivisionError
    if abs(exponent) * max(len(str(base.numerator)), len(str(base.denominator))) > 2 * MAX_DIGITS:
        raise OverflowError
    return base ** exponent
