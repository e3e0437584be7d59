"""One LLMEngine of vLLM over a base, in this process: asked, stepped, updated in place, or built anew.

Several models share a core when they are adapters of one base. Whoever asks is told of every token made, and when the
engine is built anew gets everything asked back, to ask again with what was made so far.
"""

import gc
import itertools
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from torch import Tensor
from vllm.config.weight_transfer import WeightTransferConfig
from vllm.engine.arg_utils import EngineArgs
from vllm.exceptions import VLLMClientError
from vllm.lora.request import LoRARequest
from vllm.outputs import RequestOutput
from vllm.sampling_params import SamplingParams
from vllm.v1.engine.llm_engine import LLMEngine

from hone.models import adapter
from hone.models.checkpoint import Checkpoint
from hone.rpc.errors import Refused
from hone.spec.settings import Settings
from services.inference.vllm.options import arguments
from services.inference.vllm.scratch import Scratch
from services.inference.vllm.transfer import sender
from services.inference.vllm.transfer.sender import WeightUpdater

Told = Callable[[RequestOutput], None]


class Asker(Protocol):
    """A model on a core."""

    def asked_in_vain(self) -> None:
        """Whatever is asked of the core is gone, and its adapter too."""


class Core:
    """The engine below one model, or below the adapters of one base."""

    def __init__(self, settings: Settings, adapters: bool, sleeps: bool = True) -> None:
        """Be ready to build; one of a process may sleep, if the settings say so: vLLM has one allocator that can."""
        self._settings, self._adapters = settings, adapters
        self.sleeps = sleeps and settings.vllm.sleep_s is not None
        self._scratch = Scratch()
        self._llm: LLMEngine | None = None
        self._updater: WeightUpdater | None = None
        self._told: dict[str, Told] = {}
        self._numbers = itertools.count(1)
        self._loras: dict[str, LoRARequest] = {}
        self.askers: list[Asker] = []

    @property
    def built(self) -> bool:
        return self._llm is not None

    @property
    def llm(self) -> LLMEngine:
        """The engine, awake. Raises LookupError before the first build."""
        if self._llm is None:
            raise LookupError("no engine was built yet")
        if self._llm.is_sleeping():
            self._llm.wake_up()
        return self._llm

    def build(self, checkpoint: Checkpoint) -> None:
        """Make the engine anew from a base; each asker puts its adapter beside it again."""
        self._forget()
        base = self._scratch.path / "base"
        try:
            checkpoint.write(base)
            self._llm = LLMEngine.from_engine_args(EngineArgs(
                **arguments(self._settings, base, self._adapters, self.sleeps),
                weight_transfer_config=WeightTransferConfig(backend=sender.route(self._settings).backend)))
        finally:
            shutil.rmtree(base, ignore_errors=True)  # read once; what could not be written is told as it is raised

    def update(self, tensors: Mapping[str, Tensor]) -> None:
        """Put a base's new weights in place of the old ones. Raises what vLLM raises."""
        self._updater = self._updater or WeightUpdater(self.llm, self._settings)
        self._updater.send(tensors)
        self.forget_prefixes()

    def forget_prefixes(self) -> None:
        """Empty the prefix cache, which cannot be done under running requests; those have caches of their own name."""
        if not self._told:
            self.llm.reset_prefix_cache()

    def adapt(self, name: str, files: Mapping[str, bytes]) -> LoRARequest:
        """Load an adapter, in place of the one of the same name. Raises what vLLM raises."""
        known = self._loras.get(name)
        number = known.lora_int_id if known else next(self._numbers)
        folder = self._scratch.path / f"adapter-{number}"
        folder.mkdir(exist_ok=True)
        for file in (adapter.WEIGHTS, adapter.CONFIG):
            (folder / file).write_bytes(files[file])
        self._loras[name] = LoRARequest(name, number, str(folder))
        self.llm.add_lora(LoRARequest(name, number, str(folder), load_inplace=True))
        return self._loras[name]

    def ask(
        self, ids: list[int], params: SamplingParams, salt: str, told: Told, lora: LoRARequest | None = None
    ) -> str:
        """Have tokens made after `ids` and return the key under which that can be withdrawn.

        Prompts share cached blocks only under the same salt. Raises Refused for what vLLM does not take.
        """
        key, prompt = str(next(self._numbers)), {"prompt_token_ids": ids, "cache_salt": salt}
        try:
            self.llm.add_request(key, prompt, params, lora_request=lora)
        except (VLLMClientError, ValueError) as error:
            raise Refused(f"vLLM refuses it: {error}") from error
        self._told[key] = told
        return key

    def withdraw(self, keys: list[str]) -> None:
        """Have no more tokens made for what was asked under these keys."""
        for key in keys:
            self._told.pop(key, None)  # one that is finished is not there any more
        self.llm.abort_request(keys)

    def step(self) -> None:
        """Make one token for everything that is asked, as far as there is room, and tell whoever asked."""
        for output in self.llm.step():
            told = self._told.get(output.request_id)
            if told is None:
                continue  # withdrawn by one that was told before in this very step
            if output.finished:
                del self._told[output.request_id]
            told(output)

    def answers(self, asked: list[tuple[list[int], SamplingParams]], salt: str, lora: LoRARequest | None
                ) -> list[RequestOutput]:
        """Return the whole answers to prompts, in order, stepping until the last is there.

        Raises Refused for what vLLM does not take; then none of it is asked any more.
        """
        made, keys = dict[int, RequestOutput](), list[str]()
        try:
            for place, (ids, params) in enumerate(asked):
                keys.append(self.ask(ids, params, salt, partial(made.__setitem__, place), lora))
        except Refused:
            self.withdraw(keys)
            raise
        while len(made) < len(asked):
            self.step()
        return [made[place] for place in range(len(asked))]

    def rest(self) -> None:
        """Let an idle engine's weights go to host memory and its caches go, on a GPU; on a CPU vLLM ignores it."""
        if self._llm is not None and self.sleeps and not self._told and not self._llm.is_sleeping():
            self._llm.sleep(level=1)

    def leave(self, asker: Asker, name: str) -> None:
        """Let a model go; with the last one the engine goes."""
        self.askers.remove(asker)
        lora = self._loras.pop(name, None)
        if lora is not None and self._llm is not None:
            self._llm.remove_lora(lora.lora_int_id)
        if not self.askers:
            self._forget()
            self._scratch.remove()

    def _forget(self) -> None:
        self._told.clear()
        for asker in self.askers:
            asker.asked_in_vain()
        if self._llm is not None:
            _end(self._llm)
        if self._updater is not None:
            self._updater.close()
        self._llm = self._updater = None


def _end(llm: LLMEngine) -> None:
    """End one engine of several: its own shutdown would take down the process groups that all of them use."""
    client: Any = llm.engine_core
    client._finalizer.detach()
    client.engine_core.model_executor.shutdown()
    client.engine_core.scheduler.shutdown()
    gc.unfreeze()  # vLLM froze it, so that nothing of it would ever be collected
    gc.collect()


def sampled(output: RequestOutput) -> tuple[list[int], list[float]]:
    """Return the ids that an output adds, and the log-prob of each under the distribution it was drawn from."""
    made: Any = output.outputs[0]
    logprobs = made.logprobs
    return list(made.token_ids), [logprobs.logprobs[start] for start in logprobs.start_indices]
