"""Privileged texts: what the policy does not read when it acts, and reads when its tokens are scored a second time."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from hone.environments.contract import Message
from hone.text.conversation import Tools, content_text, with_system
from hone.text.model_text import ModelText
from hone.trajectory.order import PrivilegedText
from hone.trajectory.records import Call, Context

PRIVILEGED = "privileged"


@dataclass(frozen=True)
class PrivilegedOpening:
    """The policy's first prompt of an episode, without and with a privileged text."""

    text: str
    plain_ids: list[int]
    ids: list[int]


class PrivilegedContexts:
    """The privileged texts of a group, and the prompts that hold them. The group's samples share it."""

    def __init__(self, texts: Sequence[PrivilegedText], tokenizer: ModelText, positions: int) -> None:
        """Take the texts in order, with the fields that they name filled in, and how many ids an engine holds."""
        self._texts = [(one.text, one.match or "") for one in texts if one.at == "task"]
        self._steps = [(one.text, one.match or "") for one in texts if one.at == "step"]
        self._tokenizer, self._positions = tokenizer, positions
        self._openings: dict[tuple[int, ...], PrivilegedOpening | None] = {}

    def opening(self, asked: Sequence[Message], call: Call, shown: Tools = ()) -> PrivilegedOpening | None:
        """Return the opening of an episode whose first policy call answers `asked`; None if no text matches.

        `shown` are the tools that the chat template shows. Raises TokenizerError.
        """
        key = tuple(call.prompt_ids)
        if key not in self._openings:
            text = self._text(asked)
            self._openings[key] = (
                PrivilegedOpening(text, call.prompt_ids, self._prompt_ids(asked, text, shown)) if text else None)
        return self._openings[key]

    def of(
        self, opening: PrivilegedOpening | None, asked: Sequence[Message], call: Call, shown: Tools = ()
    ) -> list[Context]:
        """Return the contexts of a call that answers `asked`.

        If the call's prompt continues the plain opening, its context continues the privileged one with the same ids.
        Texts of steps stand at the last message of this call alone. There is no context without a text, nor where the
        context with the completion is longer than engines hold: nothing is ever cut off.
        """
        step = _matching(self._steps, asked[-1:])
        if opening is None and not step:
            return []
        ids = self._continued(opening, asked, call, shown) if opening else call.prompt_ids
        if step:
            ids = self._with_step(ids, asked, opening.text if opening else "", step, shown)
        fits = len(ids) + len(call.completion_ids) <= self._positions
        whole = "\0".join(filter(None, [opening.text if opening else "", step]))
        return [Context(PRIVILEGED, ids, hashlib.sha256(whole.encode()).hexdigest())] if fits else []

    def _continued(
        self, opening: PrivilegedOpening, asked: Sequence[Message], call: Call, shown: Tools
    ) -> list[int]:
        first = len(opening.plain_ids)
        if call.prompt_ids[:first] == opening.plain_ids:
            return [*opening.ids, *call.prompt_ids[first:]]
        return self._prompt_ids(asked, opening.text, shown)

    def _with_step(
        self, ids: list[int], asked: Sequence[Message], text: str, step: str, shown: Tools
    ) -> list[int]:
        """Return a prompt with a text at its last message: after it, or without a chat template in a line before it."""
        last = asked[-1]
        if not self._tokenizer.facts.templated:
            own = self._tokenizer.encode(content_text(last))
            if own and ids[-len(own):] == own:
                return [*ids[:-len(own)], *self._tokenizer.encode(f"{step}\n"), *own]
        informed = [*asked[:-1], {**last, "content": f"{content_text(last)}\n\n{step}"}]
        return self._tokenizer.prompt_ids(with_text(informed, text, self._tokenizer) if text else informed,
                                          shown)

    def _text(self, asked: Sequence[Message]) -> str:
        """Return the texts that match the first prompt without its system message."""
        return _matching(self._texts, [one for one in asked if one["role"] != "system"])

    def _prompt_ids(self, asked: Sequence[Message], text: str, shown: Tools) -> list[int]:
        return self._tokenizer.prompt_ids(with_text(asked, text, self._tokenizer), shown)


def _matching(texts: Sequence[tuple[str, str]], messages: Sequence[Message]) -> str:
    """Return the texts whose matches occur in messages, in upper or lower case, joined by blank lines."""
    prompt = "\n".join(map(content_text, messages)).casefold()
    return "\n\n".join(text for text, match in texts if match.casefold() in prompt)


def with_text(asked: Sequence[Message], text: str, tokenizer: ModelText) -> list[Message]:
    """Return messages with a text at the end of their system message, or in a new one.

    Without a chat template the text is a line before everything else.
    """
    if not tokenizer.facts.templated:
        return [{"role": "system", "content": f"{text}\n"}, *asked]
    return [dict(one) for one in with_system(asked, text, "system" not in tokenizer.lacks, end=True)]
