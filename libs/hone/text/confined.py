"""A model's text, with its template and its tokenizer in a process of their own: services use this one.

Both came with the model and are programs. One that loops or grows is given up at its limit and costs its caller only.
"""

import base64
import json
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from hone.process.confined import Child, Ended, TookTooLong
from hone.text.conversation import Message, Tools
from hone.text.ends import End
from hone.text.files import Files, TokenizerError, Unbounded
from hone.text.model_text import Facts, ModelText, Prompt
from hone.text.rules import TextRules
from hone.text.table import TokenTable
from hone.text.template import size
from hone.text.worker import ASK, LIMIT_S, MEMORY_BYTES, OPEN_S

__all__ = ["LIMIT_S", "ConfinedTokenizer"]

Answer = dict[str, Any]
"""Outcome of a request: {"value"}, {"refused"} or {"unbounded"}."""

_WORKER = "hone.text.worker"
_WAIT, _WAIT_S = 6, 30.0
"""How long an answer is waited for by the clock: times the processor time of the request, and seconds besides."""
_TRIES = 2
"""Processes that a request may end before it is given up; somebody else may have killed one."""
_MOST_GIVEN_UP = 2
"""Requests that may be given up before nothing more is asked: each of them cost its whole limit."""


class ConfinedTokenizer(ModelText):
    """The text of a model whose files nobody checked. Its process starts when it is needed, and again after its end.

    `files` maps names of FILES to their bytes. Raises TokenizerError naming the file that is missing or wrong, and
    Unbounded where the files take too much time or memory: one rendering may take `limit_s` of processor time. After
    the second time it is not asked again. Several threads may use it; the process serves one.
    """

    def __init__(self, files: Files, rules: TextRules | None = None, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        named = {name: base64.b64encode(data).decode() for name, data in files.items()}
        self._opening = _line({"files": named, "rules": (rules or TextRules()).model_dump()})
        self._lock, self._end = threading.Lock(), _nothing
        self._child: Child | None = None
        self._given_up = list[str]()
        found = _value(self._repeated([])[0])
        super().__init__(TokenTable(dict(zip(found["ids"], found["texts"], strict=True)), found["decoder"]))
        self._facts = _facts(found["facts"])

    @property
    def facts(self) -> Facts:
        return self._facts

    def prompt_ids(self, messages: Sequence[Message], tools: Tools = ()) -> list[int]:
        return list(self._ask(messages, "prompt_ids", messages, tools))

    def all_prompt_ids(self, prompts: Sequence[Prompt]) -> list[list[int] | TokenizerError]:
        try:
            together = len(prompts) > 1 and len(self._given_up) < _MOST_GIVEN_UP
            found = self._repeated([["prompt_ids", *prompt] for prompt in prompts]) if together else []
        except _GivenUp:
            found = []  # one of them ended the process
        good = [list(answer["value"]) for answer in takewhile(lambda answer: "value" in answer, found)]
        if good or not found:
            return [*good] or super().all_prompt_ids(prompts)
        try:
            return [list(self._read(prompts[0][0], lambda: found[0]))]
        except TokenizerError as error:
            return [error]

    def next_prompt_ids(
        self, asked: Sequence[Message], prompt_ids: list[int], completion_ids: list[int], added: Sequence[Message],
        tools: Tools = (),
    ) -> list[int]:
        return list(self._ask(
            [*asked, *added], "next_prompt_ids", asked, prompt_ids, completion_ids, added, tools))

    def answer_ids(
        self, messages: Sequence[Message], answer: Message, tools: Tools = ()
    ) -> tuple[list[int], list[int]]:
        prompt, completion = self._ask([*messages, answer], "answer_ids", messages, answer, tools)
        return list(prompt), list(completion)

    def rated_ids(self, messages: Sequence[Message], answer: Message) -> tuple[list[int], list[int]]:
        before, rest = self._ask([*messages, answer], "rated_ids", messages, answer)
        return list(before), list(rest)

    def own_space(self, asked: Sequence[Message], text: str, tools: Tools = ()) -> str:
        if not text.startswith(" ") or not self._facts.templated:
            return text
        return str(self._ask(asked, "own_space", asked, text, tools))

    def encode(self, text: str) -> list[int]:
        return list(self._ask([{"role": "user", "content": text}], "encode", text))

    def close(self) -> None:
        """End the process, whatever it does. It starts again when it is needed."""
        if self._child is not None:
            self._child.kill()

    def _ask(self, messages: Sequence[Message], method: str, *arguments: Any) -> Any:
        """Return the result of a method of the process. Raises TokenizerError, and Unbounded with the prompt's size."""
        if len(self._given_up) >= _MOST_GIVEN_UP:
            raise Unbounded(self._given_up[-1])
        return self._read(messages, lambda: self._repeated([[method, *arguments]])[0])

    def _read(self, messages: Sequence[Message], answer: Callable[[], Answer]) -> Any:
        """Return the value of an answer. What left its limits is counted: after the second time nothing is asked."""
        try:
            return _value(answer())
        except Unbounded as error:
            where = f" on {size(messages)}" if isinstance(error, _GivenUp) else ""
            self._given_up.append(f"{error}{where}")
            raise Unbounded(self._given_up[-1]) from error

    def _repeated(self, requests: Sequence[Sequence[Any]]) -> list[Answer]:
        """Return the answers to requests, or the only answer to none, which is what is known of the files.

        A process that somebody killed is started again. Raises _GivenUp.
        """
        with self._lock:
            for _ in range(_TRIES):
                try:
                    opened = self._opened() if self._child is None or not requests else {}
                    return self._answers(requests) if requests else [opened]
                except TookTooLong as error:
                    self._child = None
                    raise _GivenUp(f"it did not finish: {error}") from error
                except Ended as error:
                    self._child, ended = None, error
        raise _GivenUp(f"{ended}; it may have {MEMORY_BYTES >> 20} MiB of memory") from ended

    def _opened(self) -> Answer:
        """Start the process and return its answer to the files. Raises Ended."""
        self._end()
        self._child = child = Child(_WORKER, str(self._limit_s))
        self._end = weakref.finalize(self, child.end)  # also when this process ends
        found: Answer = json.loads(child.ask(self._opening, _WAIT * OPEN_S + _WAIT_S))
        return found

    def _answers(self, requests: Sequence[Sequence[Any]]) -> list[Answer]:
        assert self._child is not None
        seconds = len(requests) * ASK * self._limit_s
        found: list[Answer] = json.loads(self._child.ask(_line(requests), _WAIT * seconds + _WAIT_S))
        return found


def _value(answer: Answer) -> Any:
    if "unbounded" in answer:
        raise Unbounded(answer["unbounded"])
    if "refused" in answer:
        raise TokenizerError(answer["refused"])
    return answer["value"]


class _GivenUp(Unbounded):
    """The process did not answer. The message says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"tokenizer.json: {reason}")


def _nothing() -> None:
    """End no process: none was started."""


def _line(message: Any) -> bytes:
    return json.dumps(message).encode()


def _facts(given: Mapping[str, Any]) -> Facts:
    ends = tuple(End(end["id"], end["text"], tuple(end["sources"])) for end in given["ends"])
    return Facts(**{**given, "ends": ends, "control": frozenset(given["control"])})
