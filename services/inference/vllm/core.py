"""One LLMEngine of vLLM in this process: it takes requests, is stepped, gets new weights, and is built anew.

Adapters of one base share a core. When the core is built anew its requests are lost: their engines are informed, and
request the rest of each sequence again.
"""

import itertools
import math
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
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
from hone.store.objects.contract import room_in
from services.inference.vllm import thrift
from services.inference.vllm.guides import GuidedSample, Guides
from services.inference.vllm.options import arguments
from services.inference.vllm.transfer import sender
from services.inference.vllm.transfer.sender import WeightUpdater

_ROPE_FIELDS = ("rope_theta", "rope_scaling", "rope_parameters", "original_max_position_embeddings")

OnOutput = Callable[[RequestOutput], None]


class CoreUser(Protocol):
    """An engine whose model runs on a core."""

    def requests_lost(self) -> None:
        """The core is about to be built anew: its requests and the adapters beside its base are gone."""


class Core:
    """The vLLM engine of one whole model, or of all adapters of one base."""

    def __init__(self, settings: Settings, adapters: bool, sleeps: bool = True) -> None:
        """Build nothing yet. Only one core of a process may sleep, since vLLM has one allocator that can."""
        self._settings, self._adapters = settings, adapters
        self.sleeps = sleeps and settings.vllm.sleep_s is not None
        self._folder = Path(tempfile.mkdtemp(prefix="vllm-"))  # for files that vLLM reads by path
        self._llm: LLMEngine | None = None
        self._guides: Guides | None = None  # of `_llm`
        self._updater: WeightUpdater | None = None
        self._on_output: dict[str, OnOutput] = {}  # by the key of the request
        self._numbers = itertools.count(1)
        self._loras: dict[str, LoRARequest] = {}
        self.users: list[CoreUser] = []

    @property
    def built(self) -> bool:
        return self._llm is not None

    @property
    def llm(self) -> LLMEngine:
        """The vLLM engine, which is woken if it sleeps. Raises LookupError before the first build."""
        if self._llm is None:
            raise LookupError("no engine was built yet")
        if self._llm.is_sleeping():
            self._llm.wake_up()
        return self._llm

    def build(self, checkpoint: Checkpoint, unused: Sequence[int] = ()) -> None:
        """Build the vLLM engine anew from a whole model or a base. Each user loads its adapter again.

        It never draws the ids `unused`.
        """
        thrift.once()
        self._forget()
        base = self._folder / "base"
        try:
            with room_in(self._folder):
                _with_rope_written_out(checkpoint).write(base)
            self._llm = LLMEngine.from_engine_args(EngineArgs(
                **arguments(self._settings, base, self._adapters, self.sleeps),
                weight_transfer_config=WeightTransferConfig(backend=sender.route(self._settings).backend)))
            self._llm.collective_rpc("extend", args=(list(unused),))
            self._guides = Guides(self._llm)
        finally:
            shutil.rmtree(base, ignore_errors=True)  # vLLM has read it; an error of `write` is raised all the same

    def update(self, tensors: Mapping[str, Tensor]) -> None:
        """Replace the weights in place. Raises what vLLM raises."""
        self._updater = self._updater or WeightUpdater(self.llm, self._settings)
        self._updater.send(tensors)
        self.forget_prefixes()

    def forget_prefixes(self) -> None:
        """Empty the prefix cache if no request is running; a running one has cached its prefixes under its own salt."""
        if not self._on_output:
            self.llm.reset_prefix_cache()

    def adapt(self, name: str, files: Mapping[str, bytes]) -> LoRARequest:
        """Load an adapter; it replaces the adapter of the same name. Raises what vLLM raises."""
        known = self._loras.get(name)
        number = known.lora_int_id if known else next(self._numbers)
        folder = self._folder / f"adapter-{number}"
        with room_in(self._folder):
            folder.mkdir(exist_ok=True)
            for file in (adapter.WEIGHTS, adapter.CONFIG):
                (folder / file).write_bytes(files[file])
        self._loras[name] = LoRARequest(name, number, str(folder))
        self.llm.add_lora(LoRARequest(name, number, str(folder), load_inplace=True))
        return self._loras[name]

    def add_request(
        self, ids: list[int], params: SamplingParams, salt: str, on_output: OnOutput, lora: LoRARequest | None = None,
        guided: GuidedSample | None = None,
    ) -> str:
        """Request tokens after `ids`, and return the request's key. `on_output` gets the new tokens of each step.

        Prompts share cached blocks only under the same salt. Raises Refused if vLLM does not accept the request.
        """
        key, prompt = str(next(self._numbers)), {"prompt_token_ids": ids, "cache_salt": salt}
        if guided is not None and self._guides is not None:
            params.structured_outputs = self._guides.name(key, guided)
        try:
            self.llm.add_request(key, prompt, params, lora_request=lora)
        except (VLLMClientError, ValueError) as error:
            raise Refused(f"vLLM refuses it: {error}") from error
        self._on_output[key] = on_output
        return key

    def withdraw(self, keys: list[str]) -> None:
        """Withdraw the requests with these keys."""
        for key in keys:
            self._on_output.pop(key, None)  # a finished request is no longer there
        if keys:
            self.llm.abort_request(keys)

    def step(self) -> None:
        """Make one token for each request that fits in a batch, and give it to the request's `on_output`."""
        for output in self.llm.step():
            on_output = self._on_output.get(output.request_id)
            if on_output is None:
                continue  # it was withdrawn by an earlier output of this step
            if output.finished:
                del self._on_output[output.request_id]
            on_output(output)

    def outputs(
        self, prompts: list[tuple[list[int], SamplingParams]], salt: str, lora: LoRARequest | None
    ) -> list[RequestOutput]:
        """Return the final output of each prompt, in order, after stepping until the last one is there.

        Raises Refused if vLLM does not accept a prompt; then all of them are withdrawn.
        """
        made, keys = dict[int, RequestOutput](), list[str]()
        try:
            for place, (ids, params) in enumerate(prompts):
                keys.append(self.add_request(ids, params, salt, partial(made.__setitem__, place), lora))
        except Refused:
            self.withdraw(keys)
            raise
        while len(made) < len(prompts):
            self.step()
        return [made[place] for place in range(len(prompts))]

    def rest(self) -> None:
        """Move an idle engine's weights to host memory and drop its caches, on a GPU. On a CPU vLLM ignores it."""
        if self._llm is not None and self.sleeps and not self._on_output and not self._llm.is_sleeping():
            self._llm.sleep(level=1)

    def leave(self, user: CoreUser, name: str) -> None:
        """Remove a model. With the last one the vLLM engine ends."""
        self.users.remove(user)
        lora = self._loras.pop(name, None)
        if lora is not None and self._llm is not None:
            self._llm.remove_lora(lora.lora_int_id)
        if not self.users:
            self._forget()
            shutil.rmtree(self._folder)

    def _forget(self) -> None:
        self._on_output.clear()
        for user in self.users:
            user.requests_lost()
        if self._llm is not None:
            _end(self._llm)
        if self._updater is not None:
            self._updater.close()
        self._llm = self._updater = self._guides = None


def _with_rope_written_out(checkpoint: Checkpoint) -> Checkpoint:
    """Return the model with its rotary positions in one form, with every value: vLLM has other defaults and types.

    It scales all positions of a `dynamic` model, also the first max_position_embeddings, which are plain ones.
    """
    others = {name: value for name, value in checkpoint.config.items() if name not in _ROPE_FIELDS}
    return replace(checkpoint, config={**others, "rope_parameters": checkpoint.architecture.rope.to_config()})


def _end(llm: LLMEngine) -> None:
    """End one vLLM engine. Its own shutdown would end the process groups, which all engines of the process use."""
    client: Any = llm.engine_core
    client._finalizer.detach()
    client.engine_core.model_executor.shutdown()
    client.engine_core.scheduler.shutdown()
    thrift.collect_ended()


def sampled(output: RequestOutput) -> tuple[list[int], list[float]]:
    """Return the new ids of an output, and the log-prob of each under the distribution that it was drawn from."""
    made: Any = output.outputs[0]
    logprobs = made.logprobs
    return list(made.token_ids), [logprobs.logprobs[start] for start in logprobs.start_indices]


def likeliest(output: RequestOutput, count: int) -> list[list[tuple[int, float]]]:
    """Return the `count` likeliest ids at each new token of an output, likeliest first, with their log-probs."""
    made: Any = output.outputs[0]
    logprobs = made.logprobs
    found = [sorted(set(zip(logprobs.token_ids[start:end], logprobs.logprobs[start:end], strict=True)),
                    key=lambda one: (-one[1], one[0]))
             for start, end in zip(logprobs.start_indices, logprobs.end_indices, strict=True)]
    return [[(id, value) for id, value in one[:count] if value > -math.inf] for one in found]
