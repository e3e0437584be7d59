"""Languages of texts by the package langdetect, whose random numbers always begin alike."""

from functools import cache
from typing import Any

KNOWN = frozenset({
    "af", "ar", "bg", "bn", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "gu", "he", "hi",
    "hr", "hu", "id", "it", "ja", "kn", "ko", "lt", "lv", "mk", "ml", "mr", "ne", "nl", "no", "pa", "pl", "pt", "ro",
    "ru", "sk", "sl", "so", "sq", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "vi", "zh-cn", "zh-tw",
})
"""The languages that it knows, by their codes."""


def detected(text: str) -> str | None:
    """Return the code of a text's language; None where it cannot be told."""
    found = _candidates(text)
    return found[0] if found else None


def is_english(text: str) -> bool:
    """Return whether a text may be English. Its case says nothing."""
    return "en" in _candidates(text.lower())


def _candidates(text: str) -> list[str]:
    """Return the codes of languages that have at least a tenth of the probability, the likeliest first."""
    from langdetect.lang_detect_exception import LangDetectException

    try:
        return [one.lang for one in _detector()(text)]
    except LangDetectException:
        return []


@cache
def _detector() -> Any:
    from langdetect import DetectorFactory, detect_langs  # it reads its profiles in half a second

    DetectorFactory.seed = 0
    return detect_langs
