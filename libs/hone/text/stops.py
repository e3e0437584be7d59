"""Stop texts: where they end a completion."""

from collections.abc import Iterable


def cut(text: str, stops: Iterable[str], included: bool = False) -> str:
    """Return a text up to its first stop text, which is kept if it is `included`; of two at one place the shorter."""
    found = [(start, start + len(stop)) for stop in stops if (start := text.find(stop)) >= 0]
    if not found:
        return text
    return text[:min(end for _, end in found)] if included else text[:min(start for start, _ in found)]
