"""Units of measurement: reads the unit at the end of an answer, and converts between units of one kind."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

Dimensions = Mapping[str, int]
"""Powers of the base units: a speed is {"m": 1, "s": -1}."""


@dataclass(frozen=True)
class Unit:
    """A unit as a multiple of base units."""

    factor: Fraction
    dimensions: Dimensions = field(default_factory=dict)

    def times(self, other: "Unit", power: int) -> "Unit":
        """Return the product with a power of another unit."""
        dimensions = dict(self.dimensions)
        for name, count in other.dimensions.items():
            dimensions[name] = dimensions.get(name, 0) + power * count
        return Unit(self.factor * other.factor ** power, {name: count for name, count in dimensions.items() if count})


NUMBER = Unit(Fraction(1))
PERCENT = "percent"
"""The dimension of a percent sign. 50 % may be meant by 50 and by 0.5."""
ANGLE = "angle"

_KILOGRAM, _SECOND, _METRE = {"kg": 1}, {"s": 1}, {"m": 1}
_VOLUME, _FORCE, _ENERGY = {"m": 3}, {"kg": 1, "m": 1, "s": -2}, {"kg": 1, "m": 2, "s": -2}
_POWER, _PRESSURE = {"kg": 1, "m": 2, "s": -3}, {"kg": 1, "m": -1, "s": -2}
_VOLT = {"kg": 1, "m": 2, "s": -3, "A": -1}
_PREFIXED: Mapping[str, tuple[str, Dimensions]] = {  # symbols that take prefixes, and their size in base units
    "m": ("1", _METRE), "g": ("0.001", _KILOGRAM), "s": ("1", _SECOND), "L": ("0.001", _VOLUME), "l": ("0.001",
    _VOLUME),
    "N": ("1", _FORCE), "J": ("1", _ENERGY), "W": ("1", _POWER), "Pa": ("1", _PRESSURE), "Hz": ("1", {"s": -1}),
    "A": ("1", {"A": 1}), "V": ("1", _VOLT), "C": ("1", {"A": 1, "s": 1}), "mol": ("1", {"mol": 1}),
    "eV": ("1.602176634e-19", _ENERGY), "cal": ("4.184", _ENERGY), "Wh": ("3600", _ENERGY), "B": ("1", {"byte": 1}),
}
_PREFIXES = {"": 0, "n": -9, "µ": -6, "μ": -6, "m": -3, "c": -2, "d": -1, "h": 2, "k": 3, "M": 6, "G": 9, "T": 12}
_NAMED: tuple[tuple[str, str, Dimensions], ...] = (  # names, their size in base units
    ("meter metre", "1", _METRE), ("gram", "0.001", _KILOGRAM), ("second sec", "1", _SECOND),
    ("liter litre", "0.001", _VOLUME),
    ("newton", "1", _FORCE), ("joule", "1", _ENERGY), ("watt", "1", _POWER), ("pascal", "1", _PRESSURE),
    ("hertz", "1", {"s": -1}), ("ampere amp", "1", {"A": 1}), ("volt", "1", _VOLT), ("mole", "1", {"mol": 1}),
    ("calorie", "4.184", _ENERGY), ("byte", "1", {"byte": 1}), ("bit", "0.125", {"byte": 1}),
)
_NAME_PREFIXES = {"": 0, "nano": -9, "micro": -6, "milli": -3, "centi": -2, "deci": -1, "kilo": 3, "mega": 6, "giga": 9}
_PLAIN: tuple[tuple[str, str, Dimensions], ...] = (
    ("in inch inches", "0.0254", _METRE), ("ft foot feet", "0.3048", _METRE), ("yd yard yards", "0.9144", _METRE),
    ("mi mile miles", "1609.344", _METRE), ("min mins minute minutes", "60", _SECOND),
    ("h hr hrs hour hours", "3600", _SECOND),
    ("day days", "86400", _SECOND), ("week weeks", "604800", _SECOND), ("month months", "1", {"month": 1}),
    ("yr yrs year years", "12", {"month": 1}), ("lb lbs pound pounds", "0.45359237", _KILOGRAM),
    ("oz ounce ounces", "0.028349523125", _KILOGRAM), ("t tonne tonnes", "1000", _KILOGRAM),
    ("ton tons", "1", {"ton": 1}),
    ("gal gallon gallons", "0.003785411784", _VOLUME), ("cc", "0.000001", _VOLUME),
    ("ha hectare hectares", "10000", {"m": 2}),
    ("acre acres", "4046.8564224", {"m": 2}), ("atm", "101325", _PRESSURE), ("bar", "100000", _PRESSURE),
    ("mph", "0.44704", {"m": 1, "s": -1}), ("kph kmph kmh", "5/18", {"m": 1, "s": -1}), ("K kelvin", "1", {"K": 1}),
    ("Ω ohm ohms", "1", {"ohm": 1}), ("kΩ", "1000", {"ohm": 1}),
    ("celsius", "1", {"celsius": 1}), ("fahrenheit", "1", {"fahrenheit": 1}), ("degree degrees deg", "1", {ANGLE: 1}),
    ("percent", "1/100", {PERCENT: 1}), ("dollar dollars USD", "1", {"USD": 1}), ("cent cents", "1/100", {"USD": 1}),
    ("euro euros EUR", "1", {"EUR": 1}), ("GBP", "1", {"GBP": 1}), ("rupee rupees Rs INR", "1", {"INR": 1}),
    ("yen JPY", "1", {"JPY": 1}), ("yuan CNY RMB", "1", {"CNY": 1}), ("dozen", "12", {}), ("hundred", "100", {}),
    ("thousand", "1000", {}), ("million", "1000000", {}), ("billion", "1000000000", {}),
    ("trillion", "1000000000000", {}),
    ("rad rads radian radians", "1", {}), ("unit units", "1", {}),
)


def _table() -> dict[str, Unit]:
    units = {prefix + symbol: Unit(Fraction(size) * Fraction(10) ** power, dimensions)
             for symbol, (size, dimensions) in _PREFIXED.items() for prefix, power in _PREFIXES.items()}
    for names, size, dimensions in _NAMED:
        for name in names.split():
            for prefix, power in _NAME_PREFIXES.items():
                unit = Unit(Fraction(size) * Fraction(10) ** power, dimensions)
                units |= {prefix + name: unit, prefix + name + "s": unit}
    units["secs"] = units["sec"]
    return units | {name: Unit(Fraction(size), dimensions)
                    for names, size, dimensions in _PLAIN for name in names.split()}


UNITS: Mapping[str, Unit] = _table()
_SYMBOLS = {
    "nm", "mm", "cm", "dm", "km", "mg", "kg", "ml", "mL", "cl", "cL", "dl", "dL", "ns", "ms", "Hz", "kHz", "MHz", "GHz",
    "kJ", "MJ", "kW", "MW", "kN", "Pa", "hPa", "kPa", "MPa", "kV", "mV", "mA", "mol", "mmol", "kcal", "cal", "eV",
    "keV", "MeV", "GeV", "Wh", "kWh", "kB", "MB", "GB", "TB",
}
_BARE = _SYMBOLS | {name for names, _, _ in _PLAIN for name in names.split() if len(name) > 1} | {
    name for name in UNITS if len(name) > 3 and name.islower()} | {"sec", "secs"}
"""Units that are read outside of `\\text` too. Other letters may be variables there."""
_AREAS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_POWERS = {"squared": 2, "cubed": 3}
_TOKEN = re.compile(r"[A-Za-zµμΩ]+|\^\(?(-?\d)\)?|/")
_WORDS = "|".join(sorted(map(re.escape, {*_BARE, *_AREAS, *_POWERS, "per"}), key=len, reverse=True))
_PIECE = (r"(?:\\text\{[^{}]*\}|\\%|\^\{\\circ\}|\^\{-?\d\}|/(?:\s*[msghLl](?![A-Za-z]))?|\s[msghLlNJ](?![A-Za-z])"
          r"|\\cdot(?![A-Za-z])|\.(?=\s)"
          rf"|(?<![A-Za-zµμ\\])(?:{_WORDS})(?![A-Za-zµμ_])|\s)")
_TAIL = re.compile(rf"(?:\\text\{{|\\%|\^\{{\\circ\}}|(?<![A-Za-zµμ\\])(?:{_WORDS})(?![A-Za-zµμ_]))")
_ALL = re.compile(rf"(?=(?P<pieces>{_PIECE}*))(?P=pieces)(?:[CFK](?![A-Za-z])\s*)?")  # `*+` is wrong in Python 3.11.2
_BARE_LETTER = re.compile(r"(-?[0-9.]+|-?\\frac\{[0-9]+\}\{[0-9]+\}|-?[0-9.]+\\cdot 10\^\{-?[0-9]+\})\s+"
                          r"([mgshLlNJWVKAt](?:\^\{-?\d\})?(?:\s*/\s*[A-Za-z]{1,3}(?:\^\{-?\d\})?)?)")
_CURRENCIES = {r"\dollar": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_TEMPERATURE = re.compile(r"\^\{\\circ\}\s*(?:\\text\{\s*)?([CF])\b")
_TRIGONOMETRY = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![A-Za-z])")
_OTHER_WORDS = re.compile(r"(?<=[0-9}])\s+[A-Za-z]{3,20}(?:\s+[A-Za-z]{1,20}){0,5}$")
LONGEST = 120
"""Characters at the end of an answer in which a unit is looked for."""
_FRACTION = re.compile(r"\\frac\{\s*(\\text\{[^{}]*\}(?:\^\{\d\})?)\s*\}\{\s*(\\text\{[^{}]*\}(?:\^\{\d\})?)\s*\}$")


def split(tex: str) -> tuple[str, Unit | None]:
    r"""Return the value and the unit of `5\text{ cm}`, `5 km/h` or `\dollar 5`; the whole and None where there is none.

    Words that are no units (`5 apples`) are left out.
    """
    value, currency = _without_currency(tex.strip())
    if currency is not None:
        rest, unit = split(value)
        return rest, (unit or NUMBER).times(currency, 1)
    tex = _FRACTION.sub(r"\1/\2", value)
    for match in _TAIL.finditer(tex, max(0, len(tex) - LONGEST)):
        if match[0].startswith("^") and _TRIGONOMETRY.search(tex, 0, match.start()):
            return tex, None
        if tex[:match.start()].strip() and _ALL.fullmatch(tex, match.start()):
            return tex[:match.start()].strip(), read(tex[match.start():])
    if words := _OTHER_WORDS.search(tex, max(0, len(tex) - LONGEST)):
        return tex[:words.start()], None
    lettered = _BARE_LETTER.fullmatch(tex)
    return (lettered[1], read(lettered[2])) if lettered else (tex, None)


def _without_currency(tex: str) -> tuple[str, Unit | None]:
    sign = "-" if tex.startswith("-") else ""
    for symbol, name in _CURRENCIES.items():
        if (after := tex[len(sign):].lstrip()).startswith(symbol):
            return sign + after[len(symbol):].strip(), UNITS[name]
        if tex.endswith(symbol):
            return tex[:-len(symbol)].rstrip(), UNITS[name]
    return tex, None


def read(text: str) -> Unit | None:
    """Return a unit in words or symbols, such as `km/h`, `square feet` or `m s^{-1}`; None where nothing is a unit."""
    plain = _TEMPERATURE.sub(lambda match: {"C": " celsius", "F": " fahrenheit"}[match[1]], text)
    plain = plain.replace(r"\%", " percent").replace(r"^{\circ}", " degree").replace("%", " percent")
    plain = re.sub(r"\\text|\\cdot|[{}.]", " ", plain).replace("^ ", "^")
    result, sign, power, found, unknown = NUMBER, 1, 1, False, False
    tokens = list(_TOKEN.finditer(plain))
    for place, token in enumerate(tokens):
        word = token[0] if token[0] in UNITS else token[0].lower()
        if word in ("/", "per"):
            sign = -1
        elif word in _AREAS:
            power = _AREAS[word]
        elif word in UNITS:
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            result = result.times(UNITS[word], sign * power * _raised(following))
            power, found = 1, True
        elif not word.startswith("^") and word not in _POWERS:
            unknown = True
    return None if not found or (unknown and sign < 0) else result


def _raised(token: re.Match[str] | None) -> int:
    if token is None:
        return 1
    return int(token[1]) if token[1] else _POWERS.get(token[0].lower(), 1)
