"""Numbers, sizes and times as texts for people. An absent value is a dash."""

import math
from datetime import UTC, datetime

ABSENT = "–"

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_COUNTS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k"))


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure with so many significant digits: 0.512, 12.3, 1.00e-7."""
    if value is None or math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if abs(value) < 1e-4 or abs(value) >= 1e9:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def count(value: float | None) -> str:
    """Return how many: 512, 9 812, 12.3 k, 4.1 M."""
    if value is None:
        return ABSENT
    for size, letter in _COUNTS:
        if abs(value) >= size:
            divisor = 1e3 if letter == "k" else size
            return f"{number(value / divisor)} {letter}"
    return f"{value:,.0f}".replace(",", " ") if value == int(value) else number(value)


def percent(share: float | None) -> str:
    """Return a share of one: 12.5 %."""
    return ABSENT if share is None else f"{number(100 * share)} %"


def size(found: float | None) -> str:
    """Return a number of bytes: 1.5 MiB."""
    if found is None:
        return ABSENT
    power = 0
    while abs(found) >= 1024 and power < len(_SIZES) - 1:
        found, power = found / 1024, power + 1
    return f"{number(found)} {_SIZES[power]}"


def duration(seconds: float | None) -> str:
    """Return a time span in its two largest units: 3.2 s, 4 min 5 s, 2 h 10 min, 3 d 4 h."""
    if seconds is None:
        return ABSENT
    if seconds < 60:
        return f"{number(seconds, 2)} s"
    whole = int(seconds)
    for length, unit, smaller, smaller_unit in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= length:
            return f"{whole // length} {unit} {whole % length // smaller} {smaller_unit}"
    return ABSENT


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """Return how long ago something was: just now, 5 min ago, 3 d ago."""
    if moment is None:
        return ABSENT
    passed = ((now or datetime.now(UTC)) - moment).total_seconds()
    if passed < 5:
        return "just now"
    for length, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if passed >= length:
            return f"{int(passed // length)} {unit} ago"
    return f"{int(passed)} s ago"


def until(moment: datetime, now: datetime | None = None) -> str:
    """Return how long it is until a moment: in 5 min, in 3 d; or how long ago it was."""
    left = (moment - (now or datetime.now(UTC))).total_seconds()
    if left <= 0:
        return ago(moment, now)
    for length, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if left >= length:
            return f"in {round(left / length)} {unit}"
    return f"in {int(left)} s"


def clock(moment: datetime | None) -> str:
    """Return a moment in full, UTC."""
    return ABSENT if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def short(name: str | None, length: int = 12) -> str:
    """Return the beginning of an id or digest."""
    if not name:
        return ABSENT
    return name if len(name) <= length + 1 else f"{name[:length]}…"
