"""Kinds of reference answers, and the string rules for those kinds that algebra would compare wrongly."""

import re
from collections.abc import Callable, Mapping

_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_LETTER = re.compile(r"\(?([A-Za-z])[).]?")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?\s*([aApP]\.?[mM]\.?)?")
_TRUTH = re.compile(r"(?i:yes|no|true|false|none)")
_ORDER = re.compile(r"[A-Z]{2,}|[A-Za-z](?:\s*[,>→]\s*[A-Za-z])+")
_WORDS = re.compile(r"[^\W\d_]{3,}|[^\W\d_]{2,}(?:['’ -]+[^\W\d_]+)+")
_KINDS = (("letter", _LETTER), ("time", _TIME), ("words", _TRUTH), ("order", _ORDER), ("words", _WORDS))
_ARGUMENTS = re.compile(r"\\(?:[dt]?(frac)|sqrt\s*(?:\[[^\]]*\])?)(?![A-Za-z])")
_BARE = re.compile(r"\s*(\\[A-Za-z]+|[^\s{}\\])")
_BRACE = re.compile(r"\\.|([{}])", re.DOTALL)


def plain(text: str) -> str:
    r"""Return the text without dollar signs, \(…\), \text{…} around words, and outer white space."""
    bare = re.sub(r"\\[()\[\]]|(?<!\\)\$", "", text)
    return _TEXT_COMMAND.sub(r"\1", bare).strip()


def answer_type(reference: str) -> str:
    """Return the kind of a reference: letter, time, order, words or symbolic."""
    text = plain(reference)
    return next((name for name, pattern in _KINDS if pattern.fullmatch(text)), "symbolic")


def _letter(text: str) -> str:
    match = _LETTER.fullmatch(plain(text))
    return match[1] if match else text


def _time(text: str) -> str:
    match = _TIME.fullmatch(plain(text))
    if match is None:
        return text
    half = (match[4] or "").replace(".", "").lower()
    return f"{int(match[1])}:{match[2]}:{match[3] or '00'}{half}"


def _order(text: str) -> str:
    return re.sub(r"[\s,>→]+", "", plain(text))


def _words(text: str) -> str:
    return " ".join(plain(text).rstrip(".").casefold().split())


STRING_RULES: Mapping[str, Callable[[str], str]] = {
    "letter": _letter, "time": _time, "order": _order, "words": _words,
}
"""Kinds that are compared as text, each with a function to a normal form. Equal answers have equal normal forms."""


def braced(tex: str) -> str:
    r"""Return TeX with every argument of \frac and \sqrt in braces, as TeX reads them: \frac12 is \frac{1}{2}."""
    parts, end = [], 0
    while match := _ARGUMENTS.search(tex, end):
        parts.append(tex[end:match.end()])
        end = match.end()
        for _ in range(2 if match[1] else 1):
            argument, end = _argument(tex, end)
            parts.append("" if argument is None else "{" + braced(argument) + "}")
    return "".join([*parts, tex[end:]])


def _argument(tex: str, start: int) -> tuple[str | None, int]:
    """Return the argument that TeX would read at `start`, without braces, and the index of its end."""
    if match := _BARE.match(tex, start):
        return match[1], match.end()
    depth = 0
    for match in _BRACE.finditer(tex, start):
        depth += {"{": 1, "}": -1}.get(match[1], 0)
        if depth <= 0:
            break
    else:
        return None, start
    inner = tex[start:match.end()].strip()
    return (inner[1:-1], match.end()) if inner.startswith("{") else (None, start)
