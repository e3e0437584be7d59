"""Answers that follow a grammar: which tokens may come next, as llguidance finds it.

    Grammars.of        a grammar is checked in a process of its own, then compiled for a model's tokens, and kept
    Grammar.walk       a sample begins
    Walk.allowed       the ids that may come next; Walk.take moves on by one

Some grammars take minutes or gigabytes to compile, so that none is compiled here before its check has ended well.
"""

import asyncio
import json
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import llguidance
import numpy as np
from numpy.typing import NDArray

from hone.process.confined import Child, Ended, TookTooLong
from hone.rpc.errors import InvalidField
from hone.text import token_bytes
from hone.text.model_text import ModelText
from services.inference.grammar_worker import CHECK_S, limits

MOST_CHARACTERS = 65536
_MOST_GRAMMARS, _MOST_VOCABULARIES = 16, 4
_WAIT_S = 30.0
"""How long a check is waited for by the clock, on a machine that is busy."""
_SPECIAL = b"\xff"
"""Prefix of llguidance before a token that stands for no text."""

_LONGEST_REASON = 500
Key = TypeVar("Key")
UNFOLLOWED = "the grammar cannot be followed: "
"""Begins the reason for a request that an engine could not go on with."""
Allowed = NDArray[np.bool_]


class Walk:
    """A sample's way through a grammar, between two of its tokens."""

    def __init__(self, matcher: Any, size: int, stop_ids: Sequence[int]) -> None:
        """`size` is the number of ids, with a row of the logits each. `stop_ids` end the sample where its text may."""
        self._matcher, self._size, self._stop_ids = matcher, size, list(stop_ids)
        self.over = False  # nothing can follow
        self.failure = ""  # why nobody knows what may follow
        self.allowed = self._next()  # which ids may come next [size]

    def take(self, id: int) -> None:
        """Move on by a token that was allowed."""
        if id in self._stop_ids:
            self.over = True
            return
        self._matcher.consume_token(id)
        self.over = self._matcher.is_stopped() and not self._matcher.is_error()
        if not self.over:
            self.allowed = self._next()

    def _next(self) -> Allowed:
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        found = np.zeros(self._size, bool)
        known = np.unpackbits(bits, bitorder="little")[:self._size]
        found[:len(known)] = known
        if self._matcher.is_accepting():
            found[self._stop_ids] = True
        if self._matcher.is_error():
            self.failure = f"it leads to a text that no token continues: {_reason(self._matcher.get_error())}"
        elif not found.any():
            self.failure = "it leads to a text that no token continues"
        return found


@dataclass(frozen=True)
class Grammar:
    """A grammar that is compiled for a model's tokens."""

    matcher: Any
    size: int  # number of ids

    def walk(self, stop_ids: Sequence[int], made: Sequence[int] = ()) -> Walk:
        """Begin a sample, after the tokens `made`."""
        walk = Walk(self.matcher.deep_copy(), self.size, stop_ids)
        for id in made:
            walk.take(id)
        return walk


class Grammars:
    """Compiles grammars, and keeps those that were used last."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "grammars")
        self._vocabularies: OrderedDict[tuple[int, int], tuple[ModelText, Any]] = OrderedDict()
        self._grammars: OrderedDict[tuple[int, int, str], Grammar] = OrderedDict()
        self._child: Child | None = None
        self._end: Callable[[], object] = _nothing

    async def of(self, field: str, grammar: str, text: ModelText, size: int) -> Grammar:
        """Return a grammar for the tokens of a model with `size` ids. Raises InvalidField."""
        if len(grammar) > MOST_CHARACTERS:
            raise InvalidField(field, f"{len(grammar)} characters", f"at most {MOST_CHARACTERS}")
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._compiled, field, grammar, text, size)

    def _compiled(self, field: str, grammar: str, text: ModelText, size: int) -> Grammar:
        key = (id(text), size, grammar)
        if key not in self._grammars:
            vocabulary = self._vocabulary(text, size)
            self._expect(field, grammar, self._checked(grammar))
            matcher = llguidance.LLMatcher(vocabulary, grammar, log_level=0, limits=limits())
            self._expect(field, grammar, matcher.get_error())
            made = Grammar(matcher, size)
            self._expect(field, grammar, made.walk(()).failure)
            self._grammars[key] = made
        _trim(self._grammars, key, _MOST_GRAMMARS)
        return self._grammars[key]

    def _expect(self, field: str, grammar: str, error: str) -> None:
        if error:
            raise InvalidField(field, grammar[:80], f"a grammar that llguidance can follow: {_reason(error)}")

    def _vocabulary(self, text: ModelText, size: int) -> Any:
        key = (id(text), size)
        if key not in self._vocabularies:
            self._vocabularies[key] = text, _tokens(text, size)
        _trim(self._vocabularies, key, _MOST_VOCABULARIES)
        for other in [other for other in self._grammars if other[:2] not in self._vocabularies]:
            del self._grammars[other]
        return self._vocabularies[key][1]

    def _checked(self, grammar: str) -> str:
        """Return the fault of a grammar, or ""."""
        if self._child is None:
            self._end()
            self._child = child = Child("services.inference.grammar_worker")
            self._end = weakref.finalize(self, child.end)
        try:
            return str(json.loads(self._child.ask(json.dumps(grammar).encode(), _WAIT_S)))
        except TookTooLong:
            self._child = None
            return f"it takes more than {CHECK_S:g} s to compile"
        except Ended:
            self._child = None
            return "it takes too much memory to compile"


class _Tokens:
    """A model's tokens as llguidance reads them."""

    bos_token_id = None

    def __init__(self, text: ModelText, size: int) -> None:
        self.tokens = token_bytes.of_all(text, size)
        self.ends = [id for id in text.stop_ids if id < size] or [text.eos_id]
        self.eos_token_id = self.ends[0]
        special = {*self.ends, *(text.id_of(one) for one in text.control)}
        self.special_token_ids = sorted(id for id in special if id is not None and id < size)
        for id in self.special_token_ids:
            self.tokens[id] = _SPECIAL + text.written(id).encode()
        self._ids = {raw: id for id, raw in enumerate(self.tokens) if raw}
        self._longest = max(map(len, self._ids))

    def __call__(self, text: str | bytes) -> list[int]:
        """Return the ids of a text that must follow, the longest token first.

        The model's own tokenizer is a stranger's program, which does not run here.
        """
        rest, found = text.encode() if isinstance(text, str) else text, list[int]()
        while rest:
            size = next((size for size in range(self._longest, 0, -1) if rest[:size] in self._ids), 0)
            if not size:
                break
            found.append(self._ids[rest[:size]])
            rest = rest[size:]
        return found


def _tokens(text: ModelText, size: int) -> Any:
    tokens = _Tokens(text, size)
    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(tokens), n_vocab=size, eos_token=tokens.ends)


def _reason(error: str) -> str:
    """Return the first lines of an error: what follows them shows the grammar, or a stack."""
    return " ".join(error.partition("\n<")[0].split())[:_LONGEST_REASON]


def _trim(kept: "OrderedDict[Key, Any]", used: Key, most: int) -> None:
    kept.move_to_end(used)
    while len(kept) > most:
        kept.popitem(last=False)


def _nothing() -> None:
    """End no process: none was started."""
