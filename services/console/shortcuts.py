"""Keys that do something: pages after `g`, search, help; a page may add its own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from nicegui import ui
from nicegui.events import KeyEventArguments

from services.console.markup import Markup, tag
from services.console.parts import Column, table

_TYPING: list[Literal["input", "select", "button", "textarea"]] = ["input", "select", "textarea"]
_LEADER = "g"


@dataclass(frozen=True)
class Shortcut:
    """What a key does, in words and in fact."""

    meaning: str
    action: Callable[[], object]


class Shortcuts:
    """The keys of one page; `g` waits for the key after it."""

    def __init__(self) -> None:
        self._by_keys: dict[str, Shortcut] = {}
        self._led = False
        ui.keyboard(self._pressed, repeating=False, ignore=_TYPING)

    def add(self, keys: str, meaning: str, action: Callable[[], object]) -> None:
        """Let `keys` ("/", or "g r" for one after the other) do something."""
        self._by_keys[keys] = Shortcut(meaning, action)

    def pages(self, places: dict[str, tuple[str, str]]) -> None:
        """Let `g` and a letter lead to a page: letter -> title and path."""
        for letter, (title, path) in places.items():
            self.add(f"{_LEADER} {letter}", title, partial(ui.navigate.to, path))

    def find(self, keys: str) -> Shortcut | None:
        """Return what the key does now, after what was pressed before."""
        wanted, self._led = (f"{_LEADER} {keys}" if self._led else keys), keys == _LEADER and not self._led
        return self._by_keys.get(wanted)

    def _pressed(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        if str(event.key.name) in ("Shift", "CapsLock"):
            return
        shortcut = self.find(str(event.key.name))
        if shortcut is not None:
            shortcut.action()

    def listed(self) -> Markup:
        """Return every key with its meaning."""
        rows = [[_keys(keys), shortcut.meaning] for keys, shortcut in self._by_keys.items()]
        return table([Column("Key"), Column("Meaning")], rows)


def _keys(keys: str) -> Markup:
    return tag("span", *(tag("kbd", key) for key in keys.split(" ")))
