"""The tokenizers of the models that are asked. Each runs in a process of its own, which ends when it is not used."""

import asyncio
import json
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hone.store.manifests import get_file
from hone.store.objects import Objects
from hone.text.confined import LIMIT_S, ConfinedTokenizer
from hone.text.files import TokenizerError
from hone.text.model_text import ModelText
from services.gateway.openai.names import AskedModel
from services.gateway.openai.refusals import WrongRequest

_MOST, _IDLE_S = 16, 600.0
"""Tokenizers that are kept, and how long each is kept without use."""
Answer = TypeVar("Answer")


@dataclass
class AskedText:
    """A tokenizer, and the thread that waits for its process: a slow one holds up no other."""

    tokenizer: ConfinedTokenizer
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "asked-text"))
    used: float = field(default_factory=time.monotonic)

    async def work(self, do: Callable[[ModelText], Answer]) -> Answer:
        """Return the result of `do`, which makes ids. Raises WrongRequest where the model cannot read the text."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread, do, self.tokenizer)
        except TokenizerError as error:
            raise WrongRequest(f"The model cannot read this: {error}") from error


class AskedTexts:
    """Reads tokenizers from the object store and keeps those that were used last."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._kept: OrderedDict[str, AskedText] = OrderedDict()  # the longest unused one first
        self._reading = defaultdict[str, asyncio.Lock](asyncio.Lock)

    async def of(self, model: AskedModel, tenant_id: str) -> AskedText:
        """Return a model's tokenizer. No two tenants share a process. Raises WrongRequest, StoreAway."""
        digests = [entry["sha256"] for _, entry in sorted(model.text_files.items())]
        key = json.dumps([tenant_id, model.rules.model_dump_json(), digests])
        async with self._reading[key]:
            if key not in self._kept:
                self._kept[key] = AskedText(await asyncio.to_thread(self._read, model))
        text = self._kept[key]
        text.used = time.monotonic()
        self._kept.move_to_end(key)
        self._end_idle()
        return text

    def _read(self, model: AskedModel) -> ConfinedTokenizer:
        files: dict[str, Any] = {name: get_file(self._objects, entry) for name, entry in model.text_files.items()}
        try:
            return ConfinedTokenizer(files, model.rules, LIMIT_S)
        except TokenizerError as error:
            raise WrongRequest(f"The model's tokenizer cannot be used: {error}") from error

    def _end_idle(self) -> None:
        while len(self._kept) > 1:
            key, oldest = next(iter(self._kept.items()))
            if len(self._kept) <= _MOST and time.monotonic() - oldest.used < _IDLE_S:
                break
            del self._kept[key]
            self._reading.pop(key, None)
            oldest.tokenizer.close()  # it starts again for a request that still uses it
