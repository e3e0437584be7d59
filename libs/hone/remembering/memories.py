"""Memories of an assistant that is a language model: what it is shown, and what it writes down. AMemGym's baselines.

A memory asks no model. It hears messages, says when something has to be written and what the model is asked then, takes
what the model wrote, and gives the messages before a new one. All of them are the paper's but `window`, which is ours.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol

from hone.remembering.feedback import FeedbackKind, Further, Review, feedback
from hone.remembering.talks import Message
from hone.remembering.wording import EDIT, EVOLVE, KNOWN, MOST_SECTION, REMEMBER, WRITE, WRITE_SECTION, Texts
from hone.remembering.writings import read_edits, read_entries, read_section
from hone.text.keywords import overlap, words

MemoryKind = Literal["native", "window", "rag", "awe", "awi", "awi-evolve"]
Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""How similar a query is to each of several texts."""
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
    entries: dict[str, list[str]] = field(default_factory=dict)  # value or fact, and simulated time, oldest first
    clock: str = ""
    remember: str = ""  # what to remember, in the model's words


class Memory(Protocol):
    """Memory of an assistant of its talks."""

    @property
    def due(self) -> bool:
        """Whether the model has to write before the next message is heard."""

    def reset(self) -> None:
        """Forget everything."""

    def hear(self, message: Message) -> None:
        """Take in a message of either side."""

    def writing(self) -> list[Message]:
        """Return the question to the model when it has to write."""

    def written(self, text: str) -> dict[str, list[str | None]]:
        """Take what the model wrote. Return what changed: old value (None: none) and new one, by name."""

    def known(self, text: str) -> str:
        """Return the memory, as far as a new message asks for it; "" without any."""

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

    def __init__(self, remember: str = "") -> None:
        self._remember, self._held = remember, Held(remember=remember)

    @property
    def due(self) -> bool:
        return False

    def reset(self) -> None:
        self._held = Held(remember=self._remember)

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
        return "\n".join(store[place] for place in _best(self._similarity(text, store), self._most))


class Awe(Native):
    """A store of facts, which the model adds, changes and deletes when messages leave the buffer.

    Of the facts those are shown that are most similar to the new message, oldest first; the model that edits them sees
    those most similar to the messages that leave. The paper's is the package mem0, which asks a model twice, for facts
    and then for edits, and finds similar ones by embeddings; here it is asked once, and words are compared.
    """

    def __init__(
        self, buffering: Buffering, most: int, ask: str = EDIT, similarity: Similarity = common_words,
    ) -> None:
        super().__init__()
        self._buffering, self._most, self._ask, self._similarity = buffering, most, ask, similarity

    @property
    def due(self) -> bool:
        return len(self._held.buffer) >= self._buffering.flush + self._buffering.keep

    def writing(self) -> list[Message]:
        leaves = self._leaves()
        facts = "\n".join(f"{number}: {_timed(*self._held.entries[number])}" for number in self._similar(leaves))
        text = self._ask.replace("{known}", facts).replace("{messages}", leaves)
        return [{"role": "user", "content": text}]

    def written(self, text: str) -> dict[str, list[str | None]]:
        edits, before = read_edits(text), self._held.entries
        shown = {*self._similar(self._leaves())}
        changed = {number: fact for number, fact in edits.update.items() if number in shown}
        kept = {number: one for number, one in before.items()
                if number not in changed and not (number in edits.delete and number in shown)}
        first = max(map(int, before), default=0) + 1
        new = {**changed, **{str(first + place): fact for place, fact in enumerate(edits.add)}}
        self._held.entries = {**kept, **{number: [fact, self._held.clock] for number, fact in new.items()}}
        self._held.buffer = self._held.buffer[self._buffering.flush:]
        return _changed(before, self._held.entries)

    def known(self, text: str) -> str:
        return "\n".join(_timed(*self._held.entries[number]) for number in self._similar(text))

    def _leaves(self) -> str:
        return _talk(self._held.buffer[:self._buffering.flush])

    def _similar(self, text: str) -> list[str]:
        """Return the numbers of the facts that are most similar to a text, oldest first."""
        numbers = [*self._held.entries]
        scores = self._similarity(text, [self._held.entries[number][0] for number in numbers])
        return [numbers[place] for place in _best(scores, self._most)]


class Awi(Native):
    """A dictionary in the prompt, which the model writes whenever the buffer is full.

    Entries have the simulated time of their writing. `most` entries are kept, the ones written last: ours, the paper
    keeps all.
    """

    def __init__(
        self, buffering: Buffering, most: int | None = None, ask: str = WRITE, remember: str = "",
    ) -> None:
        super().__init__(remember)
        self._buffering, self._most, self._ask = buffering, most, ask

    @property
    def due(self) -> bool:
        return len(self._held.buffer) >= self._buffering.flush + self._buffering.keep

    def writing(self) -> list[Message]:
        text = self._ask.replace("{remember}", self._held.remember).replace("{known}", self.known(""))
        return [{"role": "user", "content": text.replace("{messages}", _talk(self._held.buffer))}]

    def written(self, text: str) -> dict[str, list[str | None]]:
        before, new = self._held.entries, read_entries(text)
        entries = {name: one for name, one in before.items() if name not in new}
        entries.update({name: [value, self._held.clock] for name, value in new.items()})
        self._held.entries = dict([*entries.items()][-self._most:]) if self._most else entries
        self._held.buffer = self._held.buffer[self._buffering.flush:]
        return _changed(before, self._held.entries)

    def known(self, text: str) -> str:  # noqa: ARG002
        return "\n".join(_timed(f"{name}={value}", time) for name, (value, time) in self._held.entries.items())


class EvolvingAwi(Awi):
    """A dictionary whose section "what to remember" the model rewrites after each period, from feedback.

    The paper's code asks for the section in JSON, as here. What is asked is worded anew: ours.
    """

    def __init__(
        self, buffering: Buffering, most: int | None = None, ask: str = WRITE_SECTION, remember: str = REMEMBER,
        evolve: str = EVOLVE,
    ) -> None:
        super().__init__(buffering, most, ask, remember)
        self._evolve = evolve

    @property
    def remember(self) -> str:
        """The section as it is."""
        return self._held.remember

    def evolving(self, feedback: str) -> list[Message]:
        """Return the question to the model after a period."""
        text = self._evolve.replace("{remember}", self._held.remember).replace("{feedback}", feedback)
        return [{"role": "user", "content": text}]

    def evolved(self, text: str) -> None:
        """Take the section that the model wrote. An empty one changes nothing."""
        self._held.remember = read_section(text)[:MOST_SECTION].strip() or self._held.remember


def memory(kind: MemoryKind, buffering: Buffering, most: int | None = None, texts: Texts = Texts()) -> Memory:
    """Return an empty memory.

    `most`: messages of a window or that rag finds, or facts that awe finds (30), or entries of awi (all).
    """
    made: Mapping[MemoryKind, Callable[[], Memory]] = {
        "native": Native, "window": lambda: Window(most or 30), "rag": lambda: Rag(buffering, most or 30),
        "awe": lambda: Awe(buffering, most or 30, texts.write or EDIT),
        "awi": lambda: Awi(buffering, most, texts.write or WRITE),
        "awi-evolve": lambda: EvolvingAwi(
            buffering, most, texts.write or WRITE_SECTION, texts.remember, texts.evolve)}
    return made[kind]()


def _talk(messages: Sequence[Message]) -> str:
    return "\n".join(f"{one['role']}: {one['content'].strip()}" for one in messages)


def _timed(text: str, time: str) -> str:
    return f"[{time}] {text}" if time else text


def _best(scores: Sequence[float], most: int) -> list[int]:
    """Return the places of the highest scores, in their order; of equal ones the later."""
    return sorted(sorted(range(len(scores)), key=lambda place: (-scores[place], -place))[:most])


def _changed(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> dict[str, list[str | None]]:
    values = {name: [before.get(name, [None])[0], after.get(name, [None])[0]] for name in {**before, **after}}
    return {name: both for name, both in values.items() if both[0] != both[1]}


def context(kept: Memory, text: str, system: str = "", known: str = KNOWN) -> list[Message]:
    """Return the messages before a new one: at most one system message, with what is known, and the newest ones."""
    found = kept.known(text)
    parts = [system.rstrip(), known.replace("{known}", found).rstrip() if found else ""]
    joined = "\n\n".join(filter(None, parts))
    return [*([{"role": "system", "content": f"{joined}\n"}] if joined else []), *kept.recent()]


Speech = Callable[[Literal["reply", "write", "probe", "evolve"], list[Message]], str]
"""A model: it gets what a call is for and its messages."""


class RememberingModel:
    """An assistant of a memory and of any model. What it hears of a period, it hears of where its memory evolves."""

    def __init__(
        self, kept: Memory, speak: Speech, heard: FeedbackKind = "complete", further: Sequence[Further] = (),
    ) -> None:
        self._memory, self._speak, self._heard, self._further = kept, speak, heard, tuple(further)

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

    def evolve(self, review: Review) -> None:
        if isinstance(self._memory, EvolvingAwi):
            text = feedback(review, self._heard, self._further, self._memory.known)
            self._memory.evolved(self._speak("evolve", self._memory.evolving(text)))

    def save(self) -> bytes:
        return self._memory.save()

    def load(self, state: bytes) -> None:
        self._memory.load(state)
