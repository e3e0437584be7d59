"""Text to token ids and back, with the tokenizer files of a version of the weights. Nothing else tokenizes."""

from collections.abc import Sequence
from functools import cached_property

from hone.text import abilities, ends, template
from hone.text.conversation import Message, Tools, content_text, continues, with_answer
from hone.text.ends import End
from hone.text.files import FILES, Files, TokenizerError, named_tokens
from hone.text.reasoning import opened
from hone.text.rendering import Renderer
from hone.text.rules import TextRules
from hone.text.vocabulary import Vocabulary

__all__ = ["FILES", "Message", "Tokenizer", "TokenizerError"]

_ALWAYS_TRIED = 16
"""Ids without any text, after which text is looked for at each of them; then after twice as many, and so on."""
_MOST_BYTES = 4
"""Of a character."""
_MARK_IDS = 32
"""Ids that surely hold a mark of reasoning and the white space after it."""


class Tokenizer:
    """Turns conversations into prompt ids and completions into text.

    `files` maps names of FILES to their bytes. Raises TokenizerError naming the file that is missing or wrong.
    """

    def __init__(self, files: Files, rules: TextRules | None = None) -> None:
        self._vocabulary = Vocabulary(files)
        self._inside = {self._vocabulary.id_of(f"<0x{byte:02X}>") for byte in range(0x80, 0xC0)}  # of characters
        self._named = named_tokens(files)
        self._template = template.of_files(files, rules or TextRules())
        self._turn_end = abilities.turn_end(self._template, self._vocabulary.added) if self._template else ""
        self.ends: list[End] = ends.collect(files, self._vocabulary, self._vocabulary.id_of(self._turn_end))
        """The tokens after which an answer is over, with the files that say so."""
        self.control = self._control()
        """Texts of the tokens that only the template and the model itself may write."""
        self._renderer = Renderer(
            self._template, () if rules and rules.control_tokens else self.control, self._turn_end)

    def _control(self) -> frozenset[str]:
        """As transformers infers it: special tokens, and added tokens that the template writes; besides, the ends."""
        written = self._template.literals if self._template else ""
        return frozenset(token for token in self._vocabulary.added if token in self._vocabulary.special
                         or (token in written and not token.isspace()) or token in {end.text for end in self.ends})

    @property
    def templated(self) -> bool:
        """Whether the model has a chat template. Without one the contents of messages are joined."""
        return self._template is not None

    @property
    def dated(self) -> bool:
        """Whether the chat template writes the date."""
        return self._template is not None and self._template.dated

    @property
    def lacks(self) -> dict[str, str]:
        """What the model cannot read, with the reason: system messages, tools and so on; see hone.text.abilities."""
        return self._renderer.lacks

    @property
    def refuses(self) -> dict[str, str]:
        """Which of the conversations that every model must read the template refuses or drops, with the reason."""
        return self._renderer.refuses

    @property
    def bos(self) -> str:
        """The text of the token with which prompts begin; "" if with none."""
        first = self.prompt_ids([{"role": "user", "content": "a"}])[:1]
        text = self._vocabulary.text_of(first[0]) if first else None
        begins = text == self._named.get("bos_token") or (bool(first) and first == self._vocabulary.around[0][:1])
        return text if text and begins else ""

    @property
    def highest(self) -> tuple[int, str]:
        """The highest id that a token has, and the token."""
        id = max(self._vocabulary.ids)
        return id, self._vocabulary.text_of(id) or ""

    @cached_property
    def stop_ids(self) -> list[int]:
        """The ids after which an answer is over."""
        return [end.id for end in self.ends]

    @cached_property
    def eos_id(self) -> int:
        """The id that ends an answer in training data: the template's end, else the tokenizer's, else the first one."""
        named = (self._vocabulary.id_of(text) for text in (self._turn_end, self._named.get("eos_token", "")))
        return next((id for id in named if id is not None), self.stop_ids[0])

    def prompt_ids(self, messages: Sequence[Message], tools: Tools = ()) -> list[int]:
        """Return the ids that ask for the next answer to `messages`.

        The chat template renders them if the model has one. Otherwise their contents are joined as plain text, with the
        tokens that the tokenizer itself puts before a text. A last message of the assistant is continued. Raises
        TokenizerError if the template rejects the messages or drops one of them.
        """
        return self._encoded(self._renderer.prompt(messages, tools))

    def next_prompt_ids(
        self, asked: Sequence[Message], prompt_ids: list[int], completion_ids: list[int], added: Sequence[Message],
        tools: Tools = (),
    ) -> list[int]:
        """Return the ids that ask for the answer to `asked`, the sampled completion and the messages `added` after it.

        The sampled ids are kept as they are, so that their log-probs stay true, and only the text after them is
        tokenized. If the template renders the earlier text differently (it drops thoughts, say), all text is tokenized.
        """
        whole = self._renderer.prompt([*self.answered(asked, prompt_ids, completion_ids, tools), *added], tools)
        text = self.decode(completion_ids, after=prompt_ids)
        before = self._renderer.prompt(asked, tools) + self._renderer.own.text(text)
        if not whole.startswith(before):
            return self._encoded(whole)
        rest = whole[len(before):]
        if completion_ids and completion_ids[-1] in self.stop_ids:
            rest = self._without_end(rest)
        known, again = [*prompt_ids, *completion_ids], self._encoded(whole)
        return again if again[:len(known)] == known else [*known, *self._vocabulary.rest(before, rest)]

    def answered(
        self, asked: Sequence[Message], prompt_ids: list[int], completion_ids: list[int], tools: Tools = ()
    ) -> list[Message]:
        """Return the conversation `asked` with a completion as its answer, and with what the prompt itself began."""
        text = self.decode(completion_ids, after=prompt_ids)
        if continues(asked):
            return with_answer(asked, text)
        return with_answer(asked, self._renderer.own_space(asked, self.begun(asked, prompt_ids) + text, tools))

    def begun(self, asked: Sequence[Message], prompt_ids: Sequence[int]) -> str:
        """Return the text of the next answer that the prompt already holds.

        It is the content of a last message of the assistant, or the mark of a block of reasoning that the template
        opens, with the white space after it.
        """
        if continues(asked):
            return content_text(asked[-1])
        end = self._vocabulary.decode(prompt_ids[-_MARK_IDS:])
        mark = opened(end)
        return end[end.rindex(mark):] if mark else ""

    def answer_ids(
        self, messages: Sequence[Message], answer: Message, tools: Tools = ()
    ) -> tuple[list[int], list[int]]:
        """Return prompt ids and completion ids of an answer in training data; the completion ends in an end.

        Prompt and answer are rendered together and then cut, so that the ids are those which the model would have
        sampled. What the prompt began is neither doubled nor part of the completion. Raises TokenizerError where the
        template drops a part of the answer.
        """
        prompt, completion = self._renderer.training(messages, answer, tools)
        prompt_ids, whole = self._encoded(prompt), self._encoded(prompt + completion)
        ids = whole[len(prompt_ids):] if whole[:len(prompt_ids)] == prompt_ids else (
            self._vocabulary.rest(prompt, completion))
        return prompt_ids, ids if ids and ids[-1] in self.stop_ids else [*ids, self.eos_id]

    def decode(self, ids: Sequence[int], after: Sequence[int] = ()) -> str:
        """Return the text of `ids` without a stop id at their end. Special tokens inside stay in the text.

        With `after`, the ids before them, it is the text that they add: many tokenizers drop a text's first space.
        """
        body = ids[:-1] if ids and ids[-1] in self.stop_ids else ids
        return self._vocabulary.continued(after, body)

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

    def tail(self, ids: Sequence[int], count: int) -> str:
        """Return the text of the last `count` ids, and of up to three more where the first is inside a character.

        A stop id at the end is left out, as in `decode`.
        """
        start = least = max(0, len(ids) - count)
        while start > max(0, least - _MOST_BYTES + 1) and ids[start] in self._inside:
            start -= 1
        return self.decode(ids[start:])

    def unused_ids(self, vocabulary: int) -> list[int]:
        """Return the ids below `vocabulary`, a model's number of rows, that no token has, in ascending order."""
        return sorted(set(range(vocabulary)).difference(self._vocabulary.ids))

    def _decoded(self, ids: Sequence[int]) -> str:
        return self._vocabulary.decode(ids)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text` alone, without special tokens around it."""
        return self._vocabulary.encode(text)

    def _encoded(self, text: str) -> list[int]:
        """Return the ids of a prompt's whole text. It begins with one bos at most."""
        first = [] if self.templated else self._vocabulary.around[0]
        ids = [*first, *self._vocabulary.encode(text)]
        bos = first[0] if first else self._vocabulary.id_of(self._named.get("bos_token", ""))
        while len(ids) > 1 and ids[0] == ids[1] == bos:
            del ids[0]
        return ids

    def _without_end(self, rest: str) -> str:
        """Return the text after a sampled end, without an end that the template writes there again."""
        bare = rest.lstrip()
        return next((bare[len(end.text):] for end in self.ends if bare.startswith(end.text)), rest)


def _tried(held: int) -> bool:
    """Whether to look for text after so many ids without any. Each try decodes all of them, so they become rare."""
    return held <= _ALWAYS_TRIED or held & (held - 1) == 0
