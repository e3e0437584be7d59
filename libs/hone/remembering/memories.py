"""Memories of an assistant that is a language model: what it is shown, and what it writes down. AMemGym's baselines.

A memory asks no model. It hears messages, says when something has to be written and what the model is asked then, takes
what the model wrote, and gives the messages before a new one. All of them are the paper's but `window`, which is ours;
its `awe`, a store of facts that a model edits, is not here.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from hone.remembering.phrases import pairs
from hone.remembering.talks import Message
from hone.text.keywords import overlap, words

MemoryKind = Literal["native", "window", "rag", "awi"]
Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""How similar a query is to each of several texts."""
WRITE = """Below is what you know of the user, and the newest messages. Write down what to remember as one JSON object \
of names and values. A name that is there already is overwritten.

Known:
{known}

Messages:
{messages}
"""
KNOWN = """What you know of the user, oldest first:
{known}
"""
_CLOCK = re.compile(r"\A\[(\d{4}-\d\d-\d\d \d\d:\d\d)\]")


@dataclass(frozen=True)
class Buffering:
    """When messages leave the buffer: at `flush` + `keep` messages the oldest `flush`. f and ns of the paper."""

    flush: int = 2
    keep: int = 4


@dataclass
class Held:
    """All that a memory holds, as JSON."""

    buffer: list[Message] = field(default_factory=list)  # newest messages, shown as they are
    store: list[str] = field(default_factory=list)  # older messages, of which some are shown
    entries: dict[str, list[str]] = field(default_factory=dict)  # value and simulated time by name, oldest first
    clock: str = ""


class Memory(Protocol):
    """What an assistant keeps of its talks."""

    @property
    def due(self) -> bool:
        """Whether the model has to write before the next message is heard."""

    def reset(self) -> None:
        """Forget everything."""

    def hear(self, message: Message) -> None:
        """Take in a message of either side."""

    def writing(self) -> list[Message]:
        """Return what the model is asked when it has to write."""

    def written(self, text: str) -> dict[str, list[str | None]]:
        """Take what the model wrote. Return what changed: old value (None: none) and new one, by name."""

    def known(self, text: str) -> str:
        """Return what is known, as far as a new message asks for it; "" where nothing is."""

    def recent(self) -> list[Message]:
        """Return the messages that are shown as they are."""

    def save(self) -> bytes:
        """Return everything that is held."""

    def load(self, state: bytes) -> None:
        """Go back to what was saved."""


def common_words(query: str, texts: Sequence[str]) -> list[float]:
    """Return the similarity of texts by common words."""
    asked = words(query)
    return [overlap(asked, words(text)) for text in texts]


class Native:
    """The whole history. It never writes. The other memories differ by what they keep and show."""

    def __init__(self) -> None:
        self._held = Held()

    @property
    def due(self) -> bool:
        return False

    def reset(self) -> None:
        self._held = Held()

    def hear(self, message: Message) -> None:
        found = _CLOCK.match(str(message["content"]))
        self._held.clock = found[1] if found else self._held.clock
        self._held.buffer.append(message)
        self._trim()

    def writing(self) -> list[Message]:
        raise RuntimeError("this memory is never due, expected no writing")

    def written(self, text: str) -> dict[str, list[str | None]]:  # noqa: ARG002
        raise RuntimeError("this memory is never due, expected nothing written")

    def known(self, text: str) -> str:  # noqa: ARG002
        return ""

    def recent(self) -> list[Message]:
        return [*self._held.buffer]

    def save(self) -> bytes:
        return json.dumps(asdict(self._held), ensure_ascii=False).encode()

    def load(self, state: bytes) -> None:
        self._held = Held(**json.loads(state))

    def _trim(self) -> None:
        """Let messages leave the buffer."""


class Window(Native):
    """The last messages alone."""

    def __init__(self, messages: int) -> None:
        super().__init__()
        self._messages = messages

    def _trim(self) -> None:
        self._held.buffer = self._held.buffer[-self._messages:]


class Rag(Native):
    """The newest messages, and of the older ones those that are most similar to the new message, oldest first."""

    def __init__(self, buffering: Buffering, most: int, similarity: Similarity = common_words) -> None:
        super().__init__()
        self._buffering, self._most, self._similarity = buffering, most, similarity

    def _trim(self) -> None:
        flush, buffer = self._buffering.flush, self._held.buffer
        if len(buffer) >= flush + self._buffering.keep:
            self._held.store += [f"{one['role']}: {one['content'].strip()}" for one in buffer[:flush]]
            self._held.buffer = buffer[flush:]

    def known(self, text: str) -> str:
        store = self._held.store
        scores = self._similarity(text, store)
        best = sorted(range(len(store)), key=lambda place: (-scores[place], -place))[:self._most]
        return "\n".join(store[place] for place in sorted(best))


class Awi(Native):
    """A dictionary in the prompt, which the model writes whenever the buffer is full.

    Entries have the simulated time of their writing. `most` entries are kept, the ones written last: ours, the paper
    keeps all.
    """

    def __init__(self, buffering: Buffering, most: int | None = None, ask: str = WRITE) -> None:
        super().__init__()
        self._buffering, self._most, self._ask = buffering, most, ask

    @property
    def due(self) -> bool:
        return len(self._held.buffer) >= self._buffering.flush + self._buffering.keep

    def writing(self) -> list[Message]:
        messages = "\n".join(f"{one['role']}: {one['content'].strip()}" for one in self._held.buffer)
        text = self._ask.replace("{known}", self.known("")).replace("{messages}", messages)
        return [{"role": "user", "content": text}]

    def written(self, text: str) -> dict[str, list[str | None]]:
        before, new = self._held.entries, read_entries(text)
        entries = {name: one for name, one in before.items() if name not in new}
        entries.update({name: [value, self._held.clock] for name, value in new.items()})
        self._held.entries = dict([*entries.items()][-self._most:]) if self._most else entries
        self._held.buffer = self._held.buffer[self._buffering.flush:]
        return _changed(before, self._held.entries)

    def known(self, text: str) -> str:  # noqa: ARG002
        return "\n".join(f"{f'[{time}] ' if time else ''}{name}={value}"
                         for name, (value, time) in self._held.entries.items())


def memory(kind: MemoryKind, buffering: Buffering, most: int | None = None, ask: str = WRITE) -> Memory:
    """Return an empty memory. `most`: messages of a window or that rag finds (30), or entries of awi (all)."""
    made: Mapping[MemoryKind, Callable[[], Memory]] = {
        "native": Native, "window": lambda: Window(most or 30), "rag": lambda: Rag(buffering, most or 30),
        "awi": lambda: Awi(buffering, most, ask)}
    return made[kind]()


def read_entries(text: str) -> dict[str, str]:
    """Return the entries that a model wrote: a JSON object of texts and numbers, or else pairs `name=value`."""
    try:
        found: Any = json.loads(text[text.index("{"):text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return pairs(text)
    if not isinstance(found, dict):
        return {}
    return {name: str(value) for name, value in found.items() if isinstance(value, str | int | float)}


def _changed(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> dict[str, list[str | None]]:
    values = {name: [before.get(name, [None])[0], after.get(name, [None])[0]] for name in {**before, **after}}
    return {name: both for name, both in values.items() if both[0] != both[1]}


def context(kept: Memory, text: str, system: str = "", known: str = KNOWN) -> list[Message]:
    """Return the messages before a new one: at most one system message, with what is known, and the newest ones."""
    found = kept.known(text)
    parts = [system.rstrip(), known.replace("{known}", found).rstrip() if found else ""]
    joined = "\n\n".join(filter(None, parts))
    return [*([{"role": "system", "content": f"{joined}\n"}] if joined else []), *kept.recent()]


class RememberingModel:
    """An assistant of a memory and of any model: `speak` gets what a call is for and its messages."""

    def __init__(self, kept: Memory, speak: Callable[[Literal["reply", "write", "probe"], list[Message]], str]) -> None:
        self._memory, self._speak = kept, speak

    def reset(self) -> None:
        self._memory.reset()

    def act(self, text: str) -> str:
        said = {"role": "user", "content": text}
        reply = self._speak("reply", [*context(self._memory, text), said])
        self.add_msgs([said, {"role": "assistant", "content": reply}])
        return reply

    def add_msgs(self, messages: Sequence[Message]) -> None:
        for one in messages:
            self._memory.hear(one)
            if self._memory.due:
                self._memory.written(self._speak("write", self._memory.writing()))

    def answer(self, text: str) -> str:
        return self._speak("probe", [*context(self._memory, text), {"role": "user", "content": text}])

    def save(self) -> bytes:
        return self._memory.save()

    def load(self, state: bytes) -> None:
        self._memory.load(state)
