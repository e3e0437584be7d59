"""The sampled tokens of a call: as coloured text, and as a table of figures for keyboards and screen readers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from nicegui import ui

from services.console.widgets import formats
from services.console.widgets.markup import Markup, html, join, tag
from services.console.widgets.tables import RIGHT, Column, row, titles

Scheme = Literal["log-prob", "teacher", "advantage", "plain"]

_UNLIKELY_NATS = 4.0
"""Negative log-probability at which the colour is full; a probability of 1.8 %."""
_LARGE_ADVANTAGE = 2.0
_FULL = 0.78
_SIGNS = {"\n": "↵\n", "\t": "→\t"}

PAGE = 50
"""Tokens on a page of the table."""

_ON_ONE_LINE = {ord("\n"): None, ord("\t"): None, ord(" "): "␣"}


@dataclass(frozen=True)
class Token:
    """One sampled token."""

    id: int
    text: str
    logp: float | None = None
    trained: bool = True
    advantage: float | None = None
    teacher: float | None = None  # its log-prob
    spans: tuple[str, ...] = ()  # the named spans around it, with their weights
    version: str = ""  # of the weights that sampled it


def painted(tokens: Sequence[Token], scheme: Scheme, search: str = "") -> Markup:
    """Return the tokens as text, each with its figures as title; the matches of `search` are marked."""
    hits = matches([token.text for token in tokens], search)
    return tag("div", *(_span(token, scheme, place in hits) for place, token in enumerate(tokens)), class_="tokens")


def _span(token: Token, scheme: Scheme, hit: bool) -> Markup:
    colour = background(token, scheme)
    kinds = (("hit", hit), ("masked", not token.trained), ("named", bool(token.spans)))
    kind = " ".join(name for name, holds in kinds if holds)
    return tag("span", visible(token.text), title=described(token), class_=kind or None,
               style=f"background:{colour}" if colour else None)


def background(token: Token, scheme: Scheme) -> str:
    """Return a token's colour: warmer if less likely; blue for a positive advantage, red for a negative one."""
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
    """Return a token's text with a sign for each character that would be invisible."""
    return "".join(_SIGNS.get(letter, letter) for letter in text) or "·"


def matches(texts: Sequence[str], search: str) -> set[int]:
    """Return the indices of the tokens that hold a part of a match of `search`. Upper and lower case are the same."""
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
    """Return the meaning of the colours."""
    if scheme in ("log-prob", "teacher"):
        steps = [Token(0, f" {nats} ", -nats, teacher=-nats) for nats in (0.0, 1.0, 2.0, 3.0, 4.0)]
        whose = " by the teacher" if scheme == "teacher" else ""
        words = f"nats below certain{whose}: a warmer colour is less likely"
    elif scheme == "advantage":
        steps = [Token(0, f" {value:+g} ", advantage=value) for value in (-2.0, -1.0, 0.0, 1.0, 2.0)]
        words = f"advantage{f' ({note})' if note else ''}: blue is better than the comparison, red is worse"
    else:
        return tag("div", "plain text", class_="legend")
    shown = join(tag("span", step.text, style=f"background:{background(step, scheme)}") for step in steps)
    return tag("div", shown, tag("span", words, class_="note"), class_="legend")


class TokenTable:
    """The figures of one call's tokens, a page at a time. An open table stays open when the calls are drawn again."""

    def __init__(self, call: int, tokens: Sequence[Token]) -> None:
        self._name, self._tokens = f"Tokens of call {call}", tokens
        self._opened, self._first = False, 0

    def draw(self) -> None:
        """Put the table on the page: a button that opens and closes it, and its open page."""
        many = len(self._tokens)
        with ui.element("div").classes("token-figures"):
            self._toggle = ui.button(f"Figures of {formats.count(many)} token{'s' if many != 1 else ''}",
                                     on_click=self._turned, color=None).props("flat dense no-caps").classes("plain")
            self._page = html(Markup(""))
            with ui.element("div").classes("pager") as self._pager:
                self._before = self._button("← previous tokens", -PAGE)
                self._after = self._button("next tokens →", PAGE)
                self._where = html(Markup(""))
        self._show()

    def _button(self, words: str, by: int) -> ui.button:
        return ui.button(words, on_click=lambda: self._moved(by), color=None).props(
            "flat dense no-caps").classes("plain")

    def _turned(self) -> None:
        self._opened = not self._opened
        self._show()

    def _moved(self, by: int) -> None:
        self._first += by
        self._show()

    def _show(self) -> None:
        opened, many, after = self._opened, len(self._tokens), self._first + PAGE
        self._toggle.props(f"aria-expanded={str(opened).lower()} icon={'expand_less' if opened else 'expand_more'}")
        self._page.set_content(table_page(self._tokens, self._first, self._name) if opened else "")
        self._pager.set_visibility(opened and many > PAGE)
        self._before.set_enabled(self._first > 0)
        self._after.set_enabled(after < many)
        self._where.set_content(tag("span", f"{self._first} to {min(many, after) - 1} of {many}", class_="note"))


def table_page(tokens: Sequence[Token], first: int, caption: str) -> Markup:
    """Return the page of the table that begins with the token at index `first`. Columns without values are left out."""
    columns = [(column, cell) for column, cell, known in _COLUMNS if any(map(known, tokens))]
    place = Column("Place", RIGHT)
    rows = [row([place, *(column for column, _ in columns)], [at, *(cell(tokens[at]) for _, cell in columns)])
            for at in range(first, min(len(tokens), first + PAGE))]
    head = titles([place, *(column for column, _ in columns)])
    return tag("div", tag("table", tag("caption", caption, class_="unseen"), tag("thead", head), tag("tbody", *rows)),
               class_="figures-of-tokens", tabindex="0", role="region", aria_label=caption)


def _text(token: Token) -> Markup:
    """Return a token's text on one line, with a sign for each character that would be invisible."""
    signs = visible(token.text).translate(_ON_ONE_LINE)
    return tag("span", signs, class_="mono piece")


def _nats(value: float | None) -> str:
    return formats.ABSENT if value is None else f"{value:.3f}"


def _chance(token: Token) -> str:
    return formats.ABSENT if token.logp is None else f"{100 * math.exp(min(0.0, token.logp)):.3g} %"


def _advantage(token: Token) -> str:
    return formats.ABSENT if token.advantage is None or not token.trained else f"{token.advantage:+.3f}"


_COLUMNS: Sequence[tuple[Column, Callable[[Token], object], Callable[[Token], bool]]] = (
    (Column("Token"), _text, lambda _: True),
    (Column("Log-prob", RIGHT), lambda token: _nats(token.logp), lambda token: token.logp is not None),
    (Column("Advantage", RIGHT), _advantage, lambda token: token.advantage is not None),
    (Column("Chance", RIGHT), _chance, lambda token: token.logp is not None),
    (Column("Teacher", RIGHT), lambda token: _nats(token.teacher), lambda token: token.teacher is not None),
    (Column("Trained"), lambda token: "yes" if token.trained else "no", lambda token: not token.trained),
    (Column("Id", RIGHT), lambda token: token.id, lambda _: True),
    (Column("Version"), lambda token: tag("span", formats.short(token.version), class_="mono", title=token.version),
     lambda token: bool(token.version)),
    (Column("Spans"), lambda token: join(token.spans, "; "), lambda token: bool(token.spans)),
)
"""Each column with its cell, and with whether a token has a value for it."""
