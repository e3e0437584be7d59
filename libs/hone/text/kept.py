"""Texts of models that are only read: ids become text, and no template or tokenizer runs any more."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from hone.text.confined import ConfinedTokenizer
from hone.text.files import Files
from hone.text.model_text import ModelText


class KeptTexts:
    """Keeps the models that were used last. Each has started its process once, which has ended. Any thread may ask."""

    def __init__(self, most: int, idle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`most`: models that are kept, each for `idle_s` seconds after its last use."""
        self._most, self._idle_s, self._clock = most, idle_s, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[float, ModelText]] = OrderedDict()  # the longest unused one first

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, key: Hashable, files: Callable[[], Files]) -> ModelText:
        """Return the text of the model with this key; `files` returns its files. Raises TokenizerError."""
        with self._lock:
            _, known = self._kept.pop(key, (0.0, None))
        text = known or _opened(files())
        with self._lock:
            self._kept[key] = self._clock(), text
            self._drop()
        return text

    def _drop(self) -> None:
        oldest = self._clock() - self._idle_s
        while len(self._kept) > self._most or next(iter(self._kept.values()))[0] < oldest:
            self._kept.popitem(last=False)


def _opened(files: Files) -> ModelText:
    text = ConfinedTokenizer(files)
    text.close()
    return text
