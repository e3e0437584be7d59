"""A model as an author: each question stands by itself, so that an equal one has a known answer after a new start."""

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hone.environments.packages.package import Manifest, Tables, ToolSpec, ToolUse
from hone.environments.synthesis import prompts
from hone.environments.synthesis.author import Described, Json
from hone.environments.synthesis.tester import Finding

_SHOWN = 20
"""Instructions of earlier tasks that a model is shown, so that it writes another one."""


class AskedModel(Protocol):
    """Puts a question to a model."""

    def __call__(self, messages: Sequence[Mapping[str, str]], seed: int, /) -> Json:
        """Return the JSON object of its answer. Raises UnreadAnswer, and what ends the making."""


class Asking:
    """Puts the questions of one making to models. Each time that one is asked about the same, its seed is another."""

    def __init__(self, system: str, seed: int) -> None:
        self._system, self._seed, self._times = system, seed, Counter[str]()

    def __call__(self, model: AskedModel, about: str, question: str, complaint: str) -> Json:
        """Return an answer. `complaint` says what was wrong with the last one; empty: there was none."""
        self._times[about] += 1
        seed = zlib.crc32(f"{self._seed}/{about}/{self._times[about]}".encode()) % 2**31
        wrong = f"\n\nYour last answer was not taken: {complaint}\nAnswer anew, and whole." if complaint else ""
        return model([{"role": "system", "content": self._system}, {"role": "user", "content": question + wrong}], seed)


class ModelAuthor:
    """AskedModel a model. Equal hints, seeds and answers give equal questions."""

    def __init__(self, asks: AskedModel, seed: int = 0) -> None:
        self._asks, self._asking, self._written = asks, Asking(prompts.SYSTEM, seed), list[str]()

    def schema(self, hint: str, complaint: str, /) -> Json:
        return self._asked("schema", prompts.schema(hint), complaint)

    def data(self, manifest: Manifest, complaint: str, /) -> Json:
        return self._asked("data", prompts.data(manifest), complaint)

    def source(self, world: Described, tool: ToolSpec, complaint: str, /) -> Json:
        return self._asked(f"source {tool.name}", prompts.source(world, tool), complaint)

    def cases(self, world: Described, tool: ToolSpec, complaint: str, /) -> Json:
        return self._asked(f"cases {tool.name}", prompts.cases(world, tool), complaint)

    def repair(
        self, world: Described, tool: ToolSpec, source: str, findings: Sequence[Finding], complaint: str, /,
    ) -> Json:
        return self._asked(f"repair {tool.name}", prompts.repair(world, tool, source, findings), complaint)

    def chain(self, world: Described, number: int, complaint: str, /) -> Json:
        known = "".join(f"\n- {text[:200]}" for text in self._written[-_SHOWN:])
        asked = prompts.chain(world, number) + (f"\nOther tasks ask for these already:{known}" if known else "")
        return self._asked(f"chain {number}", asked, complaint)

    def instruction(
        self, world: Described, tables: Tables, chain: Sequence[ToolUse], results: Sequence[Any], complaint: str, /,
    ) -> Json:
        said = self._asked("instruction", prompts.instruction(world, tables, chain, results), complaint)
        if isinstance(text := said.get("instruction"), str):
            self._written.append(text)
        return said

    def _asked(self, about: str, question: str, complaint: str) -> Json:
        return self._asking(self._asks, about, question, complaint)
