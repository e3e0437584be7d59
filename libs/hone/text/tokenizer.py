"""A model's text, with its template and its tokenizer in this process. Services use hone.text.confined instead."""

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

from hone.text import abilities, ends, template
from hone.text.conversation import Message, Tools
from hone.text.files import FILES, Files, TokenizerError, named_tokens
from hone.text.model_text import Facts, ModelText
from hone.text.rendering import Renderer
from hone.text.rules import TextRules
from hone.text.vocabulary import Vocabulary

__all__ = ["FILES", "Message", "Tokenizer", "TokenizerError"]


class Tokenizer(ModelText):
    """Runs a model's template and tokenizer in this process: for files that can be trusted.

    `files` maps names of FILES to their bytes. Raises TokenizerError naming the file that is missing or wrong. One
    rendering may take `render_s` seconds of processor time, which only a main thread can measure.
    """

    def __init__(self, files: Files, rules: TextRules | None = None, render_s: float | None = None) -> None:
        self._vocabulary = Vocabulary(files)
        super().__init__(self._vocabulary)
        self._named = named_tokens(files)
        self._template = template.of_files(files, rules or TextRules(), render_s)
        self._turn_end = abilities.turn_end(self._template, self._vocabulary.added) if self._template else ""
        self._ends = tuple(ends.collect(files, self._vocabulary, self._vocabulary.id_of(self._turn_end)))
        self._control = self._controlling()
        self._renderer = Renderer(
            self._template, () if rules and rules.control_tokens else self._control,
            self._turn_end if self._template else self._named.get("eos_token") or self._ends[0].text)

    @cached_property
    def facts(self) -> Facts:
        named = (self._vocabulary.id_of(text) for text in (self._turn_end, self._named.get("eos_token", "")))
        return Facts(
            self._ends, next((id for id in named if id is not None), self._ends[0].id), self._control, self._bos(),
            self._template is not None, self._template is not None and self._template.dated, self._renderer.lacks,
            self._renderer.refuses)

    @property
    def texts(self) -> dict[int, str]:
        """The token of every id."""
        return self._vocabulary.texts

    @property
    def decoder(self) -> Any:
        """The decoder of tokenizer.json; None for none."""
        return self._vocabulary.decoder

    def _controlling(self) -> frozenset[str]:
        """As transformers infers it: special tokens, and added tokens that the template writes; besides, the ends."""
        written = self._template.literals if self._template else ""
        return frozenset(token for token in self._vocabulary.added if token in self._vocabulary.special
                         or (token in written and not token.isspace()) or token in {end.text for end in self._ends})

    def _bos(self) -> str:
        if self._renderer.refuses:
            return ""
        first = self.prompt_ids([{"role": "user", "content": "a"}])[:1]
        text = self._vocabulary.text_of(first[0]) if first else None
        begins = text == self._named.get("bos_token") or (bool(first) and first == self._vocabulary.around[0][:1])
        return text if text and begins else ""

    def prompt_ids(self, messages: Sequence[Message], tools: Tools = ()) -> list[int]:
        return self._encoded(self._renderer.prompt(messages, tools))

    def next_prompt_ids(
        self, asked: Sequence[Message], prompt_ids: list[int], completion_ids: list[int], added: Sequence[Message],
        tools: Tools = (),
    ) -> list[int]:
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

    def answer_ids(
        self, messages: Sequence[Message], answer: Message, tools: Tools = ()
    ) -> tuple[list[int], list[int]]:
        prompt, completion = self._renderer.training(messages, answer, tools)
        prompt_ids, whole = self._encoded(prompt), self._encoded(prompt + completion)
        ids = whole[len(prompt_ids):] if whole[:len(prompt_ids)] == prompt_ids else (
            self._vocabulary.rest(prompt, completion))
        return prompt_ids, ids if ids and ids[-1] in self.stop_ids else [*ids, self.facts.eos_id]

    def rated_ids(self, messages: Sequence[Message], answer: Message) -> tuple[list[int], list[int]]:
        whole = self._encoded(self._renderer.whole(messages, answer))
        before = self._encoded(self._renderer.prompt(messages))
        count = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(whole, before, strict=False))))
        return whole[:count], whole[count:]

    def own_space(self, asked: Sequence[Message], text: str, tools: Tools = ()) -> str:
        return self._renderer.own_space(asked, text, tools)

    def encode(self, text: str) -> list[int]:
        return self._vocabulary.encode(text)

    def _encoded(self, text: str) -> list[int]:
        """Return the ids of a prompt's whole text. It begins with one bos at most."""
        first = [] if self._template else self._vocabulary.around[0]
        ids = [*first, *self._vocabulary.encode(text)]
        bos = first[0] if first else self._vocabulary.id_of(self._named.get("bos_token", ""))
        while len(ids) > 1 and ids[0] == ids[1] == bos:
            del ids[0]
        return ids

    def _without_end(self, rest: str) -> str:
        """Return the text after a sampled end, without an end that the template writes there again."""
        bare = rest.lstrip()
        return next((bare[len(end.text):] for end in self._ends if bare.startswith(end.text)), rest)
