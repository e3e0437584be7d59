"""From conversations to the text that a model reads: through its chat template, or joined where it has none."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from hone.text import abilities
from hone.text.control import Disarmed
from hone.text.conversation import Message, Tools, content_text, continues, plain, with_answer
from hone.text.files import TokenizerError
from hone.text.reasoning import MARKS, Unfinished, opened, said
from hone.text.template import ChatTemplate

_TOOL_MARKS = ("<tool_call>", "</tool_call>", "<|python_tag|>", "[TOOL_CALLS]", "<|tool_call|>")
SPOKEN = frozenset({*MARKS, *MARKS.values(), *_TOOL_MARKS})
"""Control tokens that a model writes in its own answers. In messages of the assistant they stay control tokens."""

_CUT = "\ufdd1 "  # marks a place; the space after it shows whether the template trims


class Renderer:
    """Renders conversations for one model. Raises TokenizerError for what its template refuses or drops."""

    def __init__(self, template: ChatTemplate | None, control: Iterable[str], end: str) -> None:
        """`control` are the texts of control tokens that others may not write; `end` closes the model's answers."""
        tokens = set(control)
        self._template, self._end = template, end
        self._others, self.own = Disarmed(tokens), Disarmed(tokens - SPOKEN)

    @cached_property
    def _parts(self) -> bool:
        """Whether the template reads contents as lists of parts only."""
        return self._template is not None and abilities.reads_parts_only(self._template)

    @cached_property
    def lacks(self) -> dict[str, str]:
        """Messages that the model cannot read, with reasons: system messages, tools, …; see hone.text.abilities."""
        if self._template is None:
            return dict(abilities.WITHOUT_TEMPLATE)
        return abilities.lacking(self._template, self._parts)

    @cached_property
    def refuses(self) -> dict[str, str]:
        """The conversations that every template has to render and this one does not, with the reason."""
        return abilities.lacking(self._template, self._parts, abilities.BASIC) if self._template else {}

    def prompt(self, messages: Sequence[Message], tools: Tools = ()) -> str:
        """Return the text that asks for the next answer. A last message of the assistant is continued."""
        if not messages:
            raise TokenizerError("messages: found none, expected at least one")
        self._check(messages, tools)
        if self._template is None:
            return "".join(map(self._joined, messages))
        if not continues(messages):
            return self._rendered(messages, tools, ask=True)
        return _up_to_cut(self._rendered(with_answer(messages, _CUT), tools, ask=False))

    def own_space(self, asked: Sequence[Message], text: str, tools: Tools) -> str:
        """Return an answer without the space at its begin, where the template itself writes one before answers."""
        bare = text.removeprefix(" ")
        if bare == text or self._template is None:
            return text
        prompt = self.prompt(asked, tools)
        whole = self.whole(asked, {"role": "assistant", "content": bare}, tools)
        return bare if whole.startswith(prompt + self.own.text(text.rstrip())) else text

    def training(self, messages: Sequence[Message], answer: Message, tools: Tools = ()) -> tuple[str, str]:
        """Return the text of a prompt, and the text of the answer that follows it, with the template's end.

        What the prompt began is not in the answer again. An answer without reasoning follows a prompt that opens none.
        Without a template earlier answers end as sampled ones do, so that the prompt is that of a rollout.
        """
        prompt, whole = self.prompt(messages, tools), self.whole(messages, answer, tools)
        if self._template is None:
            prompt, whole = self._ended(messages), self._ended(messages) + whole[len(prompt):]
        if whole.startswith(prompt) and _holds(whole[len(prompt):], self.own.text(content_text(answer))):
            return prompt, self._closed(whole[len(prompt):])
        if answer.get("tool_calls"):
            raise TokenizerError("tool_calls: the chat template writes them in another way after its own prompt")
        mark, text = opened(prompt), self.own.text(content_text(answer))
        unopened = prompt[:prompt.rindex(mark)] if mark else prompt
        if mark and MARKS[mark] not in text and whole.startswith(unopened):
            return unopened, self._closed(whole[len(unopened):])
        return prompt, _after_mark(text, prompt, mark) + self._end

    def whole(self, messages: Sequence[Message], answer: Message, tools: Tools = ()) -> str:
        """Return the text of a conversation with its answer, and with what the template writes behind it."""
        together = ([*messages[:-1], {**answer, "content": content_text(messages[-1]) + content_text(answer)}]
                    if continues(messages) else [*messages, answer])
        self._check(together, tools)
        if self._template is None:
            return "".join(map(self._joined, together))
        return self._rendered(together, tools, ask=False)

    def _closed(self, rest: str) -> str:
        """Return an answer up to the template's end, without what the template writes behind it."""
        place = rest.rfind(self._end) if self._end else -1
        return rest if place < 0 else rest[:place + len(self._end)]

    def _check(self, messages: Sequence[Message], tools: Tools) -> None:
        for need in sorted(abilities.needed(messages, tools)):
            if need in self.lacks:
                raise TokenizerError(self.lacks[need])

    def _rendered(self, messages: Sequence[Message], tools: Tools, ask: bool) -> str:
        assert self._template is not None
        read = [self._disarmed(message) for message in messages]
        return self._template(read, self._others.value(list(tools)), ask)

    def _disarmed(self, message: Message) -> Message:
        disarmed = self.own if message["role"] == "assistant" else self._others
        found: Message = disarmed.value(plain(message, self._parts))
        return found

    def _ended(self, messages: Sequence[Message]) -> str:
        """Return messages joined, with the end behind each answer but one that is to be continued."""
        *earlier, last = messages
        return "".join(self._joined(one) + (self._end if one["role"] == "assistant" else "")
                       for one in earlier) + self._joined(last)

    def _joined(self, message: Message) -> str:
        return (self.own if message["role"] == "assistant" else self._others).text(content_text(message))


def _up_to_cut(text: str) -> str:
    place = text.rfind(_CUT.strip())
    if place < 0:
        raise TokenizerError("chat_template: it drops the last message of the assistant, which is to be continued")
    return text[:place] if text.startswith(_CUT, place) else text[:place].rstrip()


def _holds(rest: str, content: str) -> bool:
    """Return whether a template kept all of an answer: its reasoning and what it says."""
    try:
        spoken = said(content).strip()
    except Unfinished:
        return content.strip() in rest
    if spoken not in rest:
        return False
    thought = content.replace(spoken, "") if spoken else content
    for mark in SPOKEN:
        thought = thought.replace(mark, "")
    return thought.strip() in rest


def _after_mark(text: str, prompt: str, mark: str) -> str:
    """Return an answer without the mark of reasoning, and the white space after it, that the prompt holds already."""
    begun = prompt[prompt.rindex(mark):] if mark else ""
    if begun and text.startswith(begun):
        return text[len(begun):]
    return text.lstrip().removeprefix(mark).lstrip("\n") if mark and text.lstrip().startswith(mark) else text
