"""The text of a model: conversations to ids, and ids to text.

Reading ids runs nothing that came with the model, and takes a time that its files bound. Making ids runs the model's
template and the expressions of its tokenizer: see hone.text.confined.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from hone.text.conversation import Message, Tools, content_text, continues, with_answer
from hone.text.ends import End
from hone.text.files import TokenizerError
from hone.text.reasoning import opened

Prompt = tuple[Sequence[Message], Tools]
"""A conversation and the tools that its template shows."""

_ALWAYS_TRIED = 16
"""Ids without any text, after which text is looked for at each of them; then after twice as many, and so on."""
_MOST_BYTES = 4
"""Of a character."""
_CONTEXT = 8
"""Ids before a text that decide how it begins."""
_MARK_IDS = 32
"""Ids that surely hold a mark of reasoning and the white space after it."""


class Table(Protocol):
    """The tokens of a model by their ids."""

    @property
    def ids(self) -> frozenset[int]:
        """Every id that a token has."""
    def id_of(self, text: str) -> int | None:
        """Return the id of a token; None where there is no such token."""
    def text_of(self, id: int) -> str | None:
        """Return the token of an id as the vocabulary writes it; None where no token has the id."""
    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Special tokens stay in it."""


@dataclass(frozen=True)
class Facts:
    """Facts of a model's text without running anything of it."""

    ends: tuple[End, ...]  # the tokens after which an answer is over, with the files that say so
    eos_id: int  # ends an answer in training data: the template's end, else the tokenizer's, else the first one
    control: frozenset[str]  # texts of the tokens that only the template and the model itself may write
    bos: str  # the text of the token with which prompts begin; "" if with none
    templated: bool  # whether there is a chat template; without one the contents of messages are joined
    dated: bool  # whether the chat template writes the date
    lacks: Mapping[str, str]  # what the model cannot read, with the reason: system messages, tools and so on
    refuses: Mapping[str, str]  # conversations that every model must read and the template refuses or drops, likewise


class ModelText(ABC):
    """Turns conversations into prompt ids and completions into text."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._inside = {table.id_of(f"<0x{byte:02X}>") for byte in range(0x80, 0xC0)}  # of characters

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """Facts that are known without running anything of the model."""

    @property
    def lacks(self) -> Mapping[str, str]:
        """Messages that the model cannot read, with reasons: system messages, tools, …; see hone.text.abilities."""
        return self.facts.lacks

    @property
    def ends(self) -> Sequence[End]:
        """The tokens after which an answer is over, with the files that say so."""
        return self.facts.ends

    @property
    def control(self) -> frozenset[str]:
        """Texts of the tokens that only the template and the model itself may write."""
        return self.facts.control

    @property
    def eos_id(self) -> int:
        """The id that ends an answer in training data."""
        return self.facts.eos_id

    @abstractmethod
    def prompt_ids(self, messages: Sequence[Message], tools: Tools = ()) -> list[int]:
        """Return the ids that ask for the next answer to `messages`.

        The chat template renders them if the model has one. Otherwise their contents are joined as plain text, with the
        tokens that the tokenizer itself puts before a text. A last message of the assistant is continued. Raises
        TokenizerError if the template rejects the messages or drops one of them.
        """

    def all_prompt_ids(self, prompts: Sequence[Prompt]) -> list[list[int] | TokenizerError]:
        """Return the ids of at least one prompt, the first ones, or why it has none.

        Prompts that are made together cost less. After one that took long the others need not wait for the rest.
        """
        try:
            return [self.prompt_ids(*prompts[0])]
        except TokenizerError as error:
            return [error]

    @abstractmethod
    def next_prompt_ids(
        self, asked: Sequence[Message], prompt_ids: list[int], completion_ids: list[int], added: Sequence[Message],
        tools: Tools = (),
    ) -> list[int]:
        """Return the ids that ask for the answer to `asked`, the sampled completion and the messages `added` after it.

        The sampled ids are kept as they are, so that their log-probs stay true, and only the text after them is
        tokenized. If the template renders the earlier text differently (it drops thoughts, say), all text is tokenized.
        """

    @abstractmethod
    def answer_ids(
        self, messages: Sequence[Message], answer: Message, tools: Tools = ()
    ) -> tuple[list[int], list[int]]:
        """Return prompt ids and completion ids of an answer in training data; the completion ends in an end.

        Prompt and answer are rendered together and then cut, so that the ids are those which the model would have
        sampled. What the prompt began is neither doubled nor part of the completion. Raises TokenizerError where the
        template drops a part of the answer.
        """

    @abstractmethod
    def rated_ids(self, messages: Sequence[Message], answer: Message) -> tuple[list[int], list[int]]:
        """Return the ids of a whole conversation, those before its last answer and those from there on.

        They are rendered together, and nothing more is asked for, as reward models read a text. Raises TokenizerError.
        """

    @abstractmethod
    def own_space(self, asked: Sequence[Message], text: str, tools: Tools = ()) -> str:
        """Return an answer without the space at its begin, where the template itself writes one before answers."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Return the ids of `text` alone, without special tokens around it."""

    @property
    def highest(self) -> tuple[int, str]:
        """The highest id that a token has, and the token."""
        id = max(self._table.ids)
        return id, self._table.text_of(id) or ""

    @cached_property
    def stop_ids(self) -> list[int]:
        """The ids after which an answer is over."""
        return [end.id for end in self.facts.ends]

    def answered(
        self, asked: Sequence[Message], prompt_ids: list[int], completion_ids: list[int], tools: Tools = ()
    ) -> list[Message]:
        """Return the conversation `asked` with a completion as its answer, and with what the prompt itself began."""
        text = self.decode(completion_ids, after=prompt_ids)
        if continues(asked):
            return with_answer(asked, text)
        return with_answer(asked, self.own_space(asked, self.begun(asked, prompt_ids) + text, tools))

    def begun(self, asked: Sequence[Message], prompt_ids: Sequence[int]) -> str:
        """Return the text of the next answer that the prompt already holds.

        It is the content of a last message of the assistant, or the mark of a block of reasoning that the template
        opens, with the white space after it.
        """
        if continues(asked):
            return content_text(asked[-1])
        end = self._decoded(prompt_ids[-_MARK_IDS:])
        mark = opened(end)
        return end[end.rindex(mark):] if mark else ""

    def decode(self, ids: Sequence[int], after: Sequence[int] = ()) -> str:
        """Return the text of `ids` without a stop id at their end. Special tokens inside stay in the text.

        With `after`, the ids before them, it is the text that they add: many tokenizers drop a text's first space.
        """
        body = ids[:-1] if ids and ids[-1] in self.stop_ids else ids
        before = list(after[-_CONTEXT:])
        known, whole = self._decoded(before), self._decoded([*before, *body])
        return whole[len(known):] if whole.startswith(known) else self._decoded(body)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text that each id adds. Joined they are the text of all ids; stop ids are shown too.

        The last id of a character gives the character. A text that later ids change (one wrong byte makes every byte
        beside it unreadable) belongs to the id after which it stays.
        """
        whole, found = self._decoded(ids), list[str]()
        known = shown = given = 0  # `ids[known:shown]` gave the last text, and whole[:given] is given in all
        for end in range(1, len(ids) + 1):
            added = self._added(ids[known:end], shown - known, end == len(ids)) if _tried(end - shown) else None
            if added is None or not whole.startswith(added, given):
                found.append("")
                continue
            known, shown, given = shown, end, given + len(added)
            found.append(added)
        return [*found[:-1], found[-1] + whole[given:]] if found else []

    def _added(self, ids: Sequence[int], since: int, last: bool) -> str | None:
        """Return the text that `ids[since:]` add to that of the ids before.

        None if they change it, or if their last character may be incomplete and more ids follow.
        """
        before, now = self._decoded(ids[:since]), self._decoded(ids)
        incomplete = now.endswith("\ufffd") and len(ids) - since < _MOST_BYTES and not last
        return None if incomplete or not now.startswith(before) else now[len(before):]

    def read(self, ids: Sequence[int]) -> str:
        """Return the text of `ids` as they are, a stop id at their end included."""
        return self._decoded(ids)

    def added(self, id: int, before: Sequence[int]) -> str:
        """Return the text that one id adds to that of the ids `before`."""
        context = list(before[-_CONTEXT:])
        known, whole = self._decoded(context), self._decoded([*context, id])
        return whole[len(known):] if whole.startswith(known) else self._decoded([id])

    def written(self, id: int) -> str:
        """Return a token as the vocabulary writes it; "" where no token has the id."""
        return self._table.text_of(id) or ""

    def tail(self, ids: Sequence[int], count: int) -> str:
        """Return the text of the last `count` ids, and of up to three more where the first is inside a character.

        A stop id at the end is left out, as in `decode`.
        """
        start = least = max(0, len(ids) - count)
        while start > max(0, least - _MOST_BYTES + 1) and ids[start] in self._inside:
            start -= 1
        return self.decode(ids[start:])

    def id_of(self, written: str) -> int | None:
        """Return the id of a token that the vocabulary writes so; None where there is no such token."""
        return self._table.id_of(written)

    def used_ids(self, vocabulary: int) -> list[int]:
        """Return the ids below `vocabulary` that a token has, in ascending order."""
        return sorted(id for id in self._table.ids if id < vocabulary)

    def unused_ids(self, vocabulary: int) -> list[int]:
        """Return the ids below `vocabulary`, a model's number of rows, that no token has, in ascending order."""
        return sorted(set(range(vocabulary)).difference(self._table.ids))

    def _decoded(self, ids: Sequence[int]) -> str:
        return self._table.decode(ids)


def _tried(held: int) -> bool:
    """Whether to look for text after so many ids without any. Each try decodes all of them, so they become rare."""
    return held <= _ALWAYS_TRIED or held & (held - 1) == 0
