"""Kinds of reference answers, and the string rules for those kinds that algebra would compare wrongly."""

import re
from collections.abc import Callable, Mapping

_TEXT_COMMAND = re.compile(r"\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|math(?:rm|bf|it|sf|tt)|mbox|operatorname|emph)"
                           r"\s*\{([^{}]*)\}")
_SPACE = re.compile(r"\\[,;:!> ]|\\q?quad(?![A-Za-z])|~|\\(?:left|right)(?![A-Za-z])|\*\*")
_LETTER = re.compile(r"\(?([A-Za-z])[).]?")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?\s*([aApP]\.?[mM]\.?)?")
_TRUTH = re.compile(r"(?i:yes|no|true|false|none)")
_ORDER = re.compile(r"[A-Z]{2,}|[A-Za-z](?:\s*[,>→]\s*[A-Za-z])+")
_WORDS = re.compile(r"[^\W\d_]{3,}|[^\W\d_]{2,}(?:['’ -]+[^\W\d_]+)+")
_MATHEMATICS = re.compile(r"(?i:infinity|inf|(?:the )?(?:empty|null) set|(?:all )?(?:the )?real(?: numbers?|s)"
                          r"(?: [a-z])?|all reals?)\.?")
"""Words that name a number or a set, which algebra reads."""
_NOTHING = re.compile(r"(?:the )?(?:empty|null) set|(?:there (?:is|are) )?no (?:real )?solutions?(?: exists?)?"
                      r"|∅|\\(?:emptyset|varnothing)|\\\{\s*\\\}")

# (B) Paris, B. Paris, B: Paris, B) 12, **B**, option B, The answer is (B)
_CHOSEN = re.compile(r"(?:(?i:the\s+)?(?i:correct\s+|right\s+|final\s+)?(?i:option|choice|answer)(?i:\s+is)?\s*:?\s*)?"
                     r"(?:[(\[{]\s*([A-Za-z])\s*[)\]}][.:]?|([A-Za-z])\s*[).:]|([A-Za-z])(?=\s*[(]|\s*$))"
                     r"\s*(.*)", re.DOTALL)
_OTHER_CHOICE = re.compile(r"(?:^|(?<=[\s,;/&]))(?:[(\[]\s*[A-Z]\s*[)\]]|[A-Z]\s*[).:](?=\s)"
                           r"|(?:or|and|,|&|/)\s*[A-Z](?![\w']))"
                           r"|^\s*(?:or|and|,|&|/)")
_OPTION = re.compile(r"(?:[(\[]\s*([A-J])\s*[)\]][.:]?|([A-J])[).:])\s+(?![-+*/^=<>∪∩,])(\S.*)", re.DOTALL)
_KINDS = (("letter", _LETTER), ("option", _OPTION), ("time", _TIME), ("words", _TRUTH), ("order", _ORDER),
          ("words", _WORDS))


def plain(text: str) -> str:
    r"""Return the text without dollar signs, \(…\), \text{…} around words, spacing commands and outer white space."""
    bare = _SPACE.sub(" ", re.sub(r"\\[()\[\]]|(?<!\\)\$", "", text))
    for _ in range(3):  # fonts inside fonts
        bare = _TEXT_COMMAND.sub(r"\1", bare)
    return bare.strip()


def answer_type(reference: str) -> str:
    """Return the kind of a reference: letter, option, time, order, words or symbolic."""
    text = plain(reference)
    if _MATHEMATICS.fullmatch(text):
        return "symbolic"
    return next((name for name, pattern in _KINDS if pattern.fullmatch(text)), "symbolic")


def choice(text: str) -> tuple[str | None, str]:
    """Return the letter of a chosen option and the text beside it; None and the text where no single one is chosen."""
    bare = plain(text).strip("*{} ")
    match = _CHOSEN.fullmatch(bare)
    if match is None or _OTHER_CHOICE.search(match[4]):
        return None, bare
    return match[1] or match[2] or match[3], match[4].strip(" .:*")


def _letter(text: str) -> str:
    return choice(text)[0] or text


def _time(text: str) -> str:
    match = _TIME.fullmatch(plain(text))
    if match is None:
        return text
    half = (match[4] or "").replace(".", "").lower()
    return f"{int(match[1])}:{match[2]}:{match[3] or '00'}{half}"


def _order(text: str) -> str:
    return re.sub(r"[\s,>→]+|\\(?:to|rightarrow|gt)(?![A-Za-z])", "", plain(text))


def _words(text: str) -> str:
    words = " ".join(plain(text).rstrip(".!").casefold().split())
    return "no solution" if _NOTHING.fullmatch(words) else words


STRING_RULES: Mapping[str, Callable[[str], str]] = {
    "letter": _letter, "time": _time, "order": _order, "words": _words,
}
"""Kinds that are compared as text, each with a function to a normal form. Equal answers have equal normal forms."""
