"""Tokens as coloured text: how unlikely each was, or how much better its sample was than what it is compared with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from services.console.markup import Markup, join, tag

Scheme = Literal["log-prob", "teacher", "advantage", "plain"]

_UNLIKELY_NATS = 4.0
"""Log-probability, taken positive, at which the colour is full: a chance of 1.8 %."""
_LARGE_ADVANTAGE = 2.0
_FULL = 0.78
_SIGNS = {"\n": "↵\n", "\t": "→\t"}


@dataclass(frozen=True)
class Token:
    """One sampled token."""

    id: int
    text: str
    logp: float | None = None
    trained: bool = True
    advantage: float | None = None
    teacher: float | None = None  # log-prob
    spans: tuple[str, ...] = ()  # named spans that it is in, with their weights
    version: str = ""  # of the weights that sampled it


def painted(tokens: Sequence[Token], scheme: Scheme, search: str = "") -> Markup:
    """Return the tokens as text, each with its figures as title; those that `search` is in are marked."""
    hits = matches([token.text for token in tokens], search)
    return tag("div", *(_span(token, scheme, place in hits) for place, token in enumerate(tokens)), class_="tokens")


def _span(token: Token, scheme: Scheme, hit: bool) -> Markup:
    colour = background(token, scheme)
    kinds = (("hit", hit), ("masked", not token.trained), ("named", bool(token.spans)))
    kind = " ".join(name for name, holds in kinds if holds)
    return tag("span", visible(token.text), title=described(token), class_=kind or None,
               style=f"background:{colour}" if colour else None)


def background(token: Token, scheme: Scheme) -> str:
    """Return a token's colour: warmer the less likely; blue for better than compared, red for worse."""
    likely = {"log-prob": token.logp, "teacher": token.teacher}.get(scheme)
    if likely is not None:
        return _tint("245,140,30", -likely / _UNLIKELY_NATS)
    if scheme == "advantage" and token.advantage is not None and token.trained:
        strength = abs(token.advantage) / _LARGE_ADVANTAGE
        return _tint("40,150,240" if token.advantage > 0 else "235,70,80", strength)
    return ""


def _tint(colour: str, strength: float) -> str:
    alpha = _FULL * min(1.0, max(0.0, strength))
    return f"rgba({colour},{alpha:.2f})" if alpha >= 0.01 else ""


def described(token: Token) -> str:
    """Return a token's figures in words."""
    words = [f"id {token.id}"]
    if token.logp is not None:
        words.append(f"log-prob {token.logp:.3f} ({100 * math.exp(min(0.0, token.logp)):.3g} %)")
    if token.teacher is not None:
        words.append(f"the teacher's {token.teacher:.3f}")
    if token.advantage is not None and token.trained:
        words.append(f"advantage {token.advantage:+.3f}")
    words += [f"in {span}" for span in token.spans]
    return " · ".join([*words, *([] if token.trained else ["not trained"])])


def visible(text: str) -> str:
    """Return a token's text with a sign where it would be invisible."""
    return "".join(_SIGNS.get(letter, letter) for letter in text) or "·"


def matches(texts: Sequence[str], search: str) -> set[int]:
    """Return the places of tokens that hold a part of a match of `search`, letter case aside."""
    wanted, whole = search.lower(), "".join(texts).lower()
    if not wanted:
        return set()
    ends = [0]
    for text in texts:
        ends.append(ends[-1] + len(text.lower()))
    found: set[int] = set()
    at = whole.find(wanted)
    while at >= 0:
        found |= {place for place in range(len(texts)) if ends[place] < at + len(wanted) and ends[place + 1] > at}
        at = whole.find(wanted, at + 1)
    return found


def legend(scheme: Scheme, note: str = "") -> Markup:
    """Return what the colours mean."""
    if scheme in ("log-prob", "teacher"):
        steps = [Token(0, f" {nats} ", -nats, teacher=-nats) for nats in (0.0, 1.0, 2.0, 3.0, 4.0)]
        whose = " by the teacher's word" if scheme == "teacher" else ""
        words = f"nats below certain{whose}: the warmer, the less likely"
    elif scheme == "advantage":
        steps = [Token(0, f" {value:+g} ", advantage=value) for value in (-2.0, -1.0, 0.0, 1.0, 2.0)]
        words = f"advantage{f' ({note})' if note else ''}: blue is better than compared, red is worse"
    else:
        return tag("div", "plain text", class_="legend")
    shown = join(tag("span", step.text, style=f"background:{background(step, scheme)}") for step in steps)
    return tag("div", shown, tag("span", words, class_="note"), class_="legend")
