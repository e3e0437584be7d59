"""The figures of a call's tokens as a table, for whom no pointer tells: a page at a time, made when it is asked for."""

import math
from collections.abc import Callable, Sequence

from nicegui import ui

from services.console import colouring, formats
from services.console.colouring import Token
from services.console.markup import Markup, join, tag
from services.console.parts import RIGHT, Column, row, titles
from services.console.view import html

PAGE = 50
"""Tokens of a page."""

_ON_ONE_LINE = {ord("\n"): None, ord("\t"): None, ord(" "): "␣"}

_Cell = Callable[[Token], object]


class TokenTable:
    """One call's; what is open stays open when the calls are drawn again."""

    def __init__(self, call: int, tokens: Sequence[Token]) -> None:
        self._name, self._tokens = f"Tokens of call {call}", tokens
        self._opened, self._first = False, 0

    def draw(self) -> None:
        """Put a button on the page that opens and closes it, and what is open."""
        many = len(self._tokens)
        with ui.element("div").classes("token-figures"):
            self._toggle = ui.button(f"Figures of {formats.count(many)} token{'s' if many != 1 else ''}",
                                     on_click=self._turned, color=None).props("flat dense no-caps").classes("plain")
            self._page = html(Markup(""))
            with ui.element("div").classes("pager") as self._pager:
                self._before = self._button("← tokens before", -PAGE)
                self._after = self._button("tokens after →", PAGE)
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
        self._page.set_content(page(self._tokens, self._first, self._name) if opened else "")
        self._pager.set_visibility(opened and many > PAGE)
        self._before.set_enabled(self._first > 0)
        self._after.set_enabled(after < many)
        self._where.set_content(tag("span", f"{self._first} to {min(many, after) - 1} of {many}", class_="note"))


def page(tokens: Sequence[Token], first: int, caption: str) -> Markup:
    """Return the page that begins with a token's place: a column for what is known of any token of the call."""
    columns = [(column, cell) for column, cell, known in _COLUMNS if any(map(known, tokens))]
    place = Column("Place", RIGHT)
    rows = [row([place, *(column for column, _ in columns)], [at, *(cell(tokens[at]) for _, cell in columns)])
            for at in range(first, min(len(tokens), first + PAGE))]
    head = titles([place, *(column for column, _ in columns)])
    return tag("div", tag("table", tag("caption", caption, class_="unseen"), tag("thead", head), tag("tbody", *rows)),
               class_="figures-of-tokens", tabindex="0", role="region", aria_label=caption)


def _text(token: Token) -> Markup:
    """Return a token's text on one line, with a sign for each letter that would be invisible."""
    signs = colouring.visible(token.text).translate(_ON_ONE_LINE)
    return tag("span", signs, class_="mono piece")


def _nats(value: float | None) -> str:
    return formats.ABSENT if value is None else f"{value:.3f}"


def _chance(token: Token) -> str:
    return formats.ABSENT if token.logp is None else f"{100 * math.exp(min(0.0, token.logp)):.3g} %"


def _advantage(token: Token) -> str:
    return formats.ABSENT if token.advantage is None or not token.trained else f"{token.advantage:+.3f}"


_COLUMNS: Sequence[tuple[Column, _Cell, Callable[[Token], bool]]] = (
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
"""Each with whether a token has something to say in it."""
