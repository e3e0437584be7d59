"""The tokenizers of the models that answer a group's calls. A run's versions with the same files share one."""

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from hone.store.database import AsyncDatabase
from hone.store.manifests import get_file
from hone.store.objects import Objects
from hone.text.confined import LIMIT_S, ConfinedTokenizer
from hone.text.conversation import Message, Tools
from hone.text.files import FILES, TokenizerError
from hone.text.model_text import ModelText, Prompt
from hone.text.rules import TextRules
from services.rollout.batcher import Batcher
from services.rollout.claims import AnsweringModel, Claim
from services.rollout.retry import Unavailable

KEPT = 256
"""How many versions' files are known."""
PROCESSES, IDLE_S = 32, 60.0
"""Most processes of tokenizers, and how long an unused one is kept."""

Answer = TypeVar("Answer")
Outcome = tuple[Any, Exception | None]
"""Result of some work, or the exception that it has raised instead."""
VersionKey = tuple[str, str | None]
"""Id of a model and of its version; without a version its newest live one."""
Manifest = tuple[str, dict[str, Any]]
"""Id of a version, and its manifest."""


class Unreadable(Exception):
    """A role's tokenizer or model cannot read the role's prompt, and never will. The message names the role."""


@contextmanager
def reading(role: str) -> Iterator[None]:
    """Raise Unreadable, with the role's name, instead of TokenizerError."""
    try:
        yield
    except TokenizerError as error:
        raise Unreadable(f"{role}'s tokenizer refuses: {error}") from error


class TextThread:
    """A thread that waits for the processes of one run's tokenizers, where it holds up no other run."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "text")
        self._jobs: Batcher[Callable[[], Any], Outcome] = Batcher(self._done, calls=1)
        self._prompts: Batcher[tuple[ModelText, Prompt], list[int] | TokenizerError] = Batcher(
            self._made, calls=1)

    async def work(self, do: Callable[[], Answer]) -> Answer:
        """Return the result of `do`, or raise its exception. Groups that ask together go on together."""
        found: Answer
        found, error = await self._jobs.ask(do)
        if error is not None:
            raise error
        return found

    async def prompt_ids(self, tokenizer: ModelText, messages: Sequence[Message], tools: Tools) -> list[int]:
        """Return the ids of a prompt. Prompts that are asked for together are made together. Raises TokenizerError."""
        found = await self._prompts.ask((tokenizer, (messages, tools)))
        if isinstance(found, TokenizerError):
            raise found
        return found

    async def _made(
        self, asked: list[tuple[ModelText, Prompt]]
    ) -> AsyncIterator[tuple[int, list[int] | TokenizerError]]:
        of_tokenizers = defaultdict[ModelText, list[int]](list)
        for place, (tokenizer, _) in enumerate(asked):
            of_tokenizers[tokenizer].append(place)
        for tokenizer, places in of_tokenizers.items():
            while places:
                prompts = [asked[place][1] for place in places]
                found = await asyncio.get_running_loop().run_in_executor(
                    self._thread, tokenizer.all_prompt_ids, prompts)
                for place, ids in zip(places, found, strict=False):
                    yield place, ids
                del places[:len(found)]

    async def _done(self, jobs: list[Callable[[], Any]]) -> AsyncIterator[tuple[int, Outcome]]:
        place = 0
        while place < len(jobs):
            for outcome in await asyncio.get_running_loop().run_in_executor(self._thread, _outcomes, jobs[place:]):
                yield place, outcome
                place += 1


def _outcomes(jobs: list[Callable[[], Any]]) -> list[Outcome]:
    """Do jobs one after another up to the first error, which may have taken long and must not wait for the others."""
    found = list[Outcome]()
    for job in jobs:
        try:
            found.append((job(), None))
        except Exception as error:
            return [*found, (None, error)]
    return found


@dataclass(frozen=True)
class RoleTokenizers:
    """The tokenizers of a group's roles: the policy's, and those of other models by their role."""

    policy: ModelText
    others: Mapping[str, ModelText] = field(default_factory=dict)
    thread: TextThread = field(default_factory=TextThread)

    async def work(self, do: Callable[..., Answer], *given: Any) -> Answer:
        """Return the result of `do`, which makes ids, in the run's own thread. Raises Unreadable."""
        return await self.thread.work(partial(do, *given))

    def of(self, role: str) -> ModelText:
        """Return the tokenizer of the model that answers for a role."""
        return self.others.get(role, self.policy)

    async def first_prompt_ids(self, role: str, messages: Sequence[Message], tools: Tools = ()) -> list[int]:
        """Return the ids of a role's prompt, made in the run's own thread with those of other groups. Raises
        Unreadable.
        """
        with reading(role):
            return await self.thread.prompt_ids(self.of(role), messages, tools)

    def prompt_ids(self, role: str, messages: Sequence[Message], tools: Tools = ()) -> list[int]:
        """Return the ids of a role's prompt. Raises Unreadable."""
        with reading(role):
            return self.of(role).prompt_ids(messages, tools)


@dataclass
class RunTokenizer:
    """A tokenizer in a process that serves one run, and the thread that waits for it."""

    tokenizer: ConfinedTokenizer
    thread: TextThread = field(default_factory=TextThread)
    used: float = field(default_factory=time.monotonic)


class Tokenizers:
    """Reads tokenizers from the object store and keeps them."""

    def __init__(self, database: AsyncDatabase, objects: Objects) -> None:
        self._database, self._objects = database, objects
        self._manifests: Batcher[VersionKey, Manifest | None] = Batcher(self._look_up)
        self._files: dict[str, dict[str, Any]] = {}  # entries of a version's manifest, by its id
        self._kept: OrderedDict[tuple[str, ...], RunTokenizer] = OrderedDict()  # by run, rules and digests of files
        self._reading = defaultdict[str, asyncio.Lock](asyncio.Lock)  # by run

    async def of(self, claim: Claim) -> RoleTokenizers:
        """Return the tokenizers of a group's roles.

        Raises Unavailable when a version does not exist yet, Unreadable when its files are no tokenizer.
        """
        asked, rules = list(claim.order.asked), claim.order.chat
        policy, *others = await asyncio.gather(
            self._of(claim, "policy", rules), *(self._of(claim, role, rules.for_others()) for role in asked))
        return RoleTokenizers(
            policy.tokenizer, dict(zip(asked, (one.tokenizer for one in others), strict=True)), policy.thread)

    async def _of(self, claim: Claim, role: str, rules: TextRules) -> RunTokenizer:
        entries = await self._entries(claim.answering(role))
        key = (claim.run_id, rules.model_dump_json(), *(entry["sha256"] for entry in entries.values()))
        async with self._reading[claim.run_id]:
            if key not in self._kept:
                with reading(role):
                    self._kept[key] = RunTokenizer(await asyncio.to_thread(self._read, entries, rules))
        self._kept[key].used = time.monotonic()
        self._kept.move_to_end(key)
        self._end_idle()
        return self._kept[key]

    async def _entries(self, model: AnsweringModel) -> dict[str, Any]:
        """Return the entries of a version's tokenizer files in its manifest, by name."""
        if model.version_id is not None and model.version_id in self._files:
            return self._files[model.version_id]
        found = await self._manifests.ask((model.model_id, model.version_id))
        if found is None:
            raise Unavailable(f"model {model.model_id} has no version {model.version_id or 'that is live'}")
        version_id, manifest = found
        if len(self._files) >= KEPT:
            self._files.clear()
        self._files[version_id] = {name: manifest["files"][name] for name in FILES if name in manifest["files"]}
        return self._files[version_id]

    def _read(self, entries: dict[str, Any], rules: TextRules) -> ConfinedTokenizer:
        files = {name: get_file(self._objects, entry) for name, entry in entries.items()}
        return ConfinedTokenizer(files, rules, LIMIT_S)

    def _end_idle(self) -> None:
        """End the processes that were not used for a while, and the longest unused ones if there are too many."""
        while len(self._kept) > 1:
            key, oldest = next(iter(self._kept.items()))
            if len(self._kept) <= PROCESSES and time.monotonic() - oldest.used < IDLE_S:
                break
            del self._kept[key]
            self._reading.pop(key[0], None)
            oldest.tokenizer.close()

    async def _look_up(self, keys: list[VersionKey]) -> AsyncIterator[tuple[int, Manifest | None]]:
        unique = sorted(set(keys), key=str)
        rows = await self._database.all("versions.manifests", model_ids=[model for model, _ in unique],
                                        version_ids=[version for _, version in unique])
        found = {(row["model_id"], row["wanted_id"]): (row["id"], row["manifest"]) for row in rows}
        for place, key in enumerate(keys):
            yield place, found.get(key)
