"""Our grammars in the place of vLLM's own, which would need the model's tokenizer.

vLLM asks a request's grammar for a mask before each of its tokens, in the process of the scheduler, and gives the mask
to the workers. Log-probs are those after the mask.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.engine.llm_engine import LLMEngine
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from services.inference.grammars import Walk

_WORD = 32
"""Ids of a number of the mask."""


class GuidedSample(StructuredOutputGrammar):
    """A sample's way through its grammar, as vLLM asks it."""

    def __init__(self, walk: Walk, made: int) -> None:
        """`made` is the number of its tokens so far."""
        self._walk, self._made = walk, made
        self.whole: int | None = made if walk.over else None  # number of tokens after which nothing can follow

    @property
    def failure(self) -> str:
        """Why it cannot go on; "" while it can."""
        return self._walk.failure

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:  # noqa: ARG002 — vLLM's
        for id in tokens:
            if not self.is_terminated():
                self._walk.take(id)
                self._made += 1
                self.whole = self._made if self._walk.over else None
        return True

    def is_terminated(self) -> bool:
        """Return whether further tokens are nobody's: the engine drops them."""
        return self.whole is not None or bool(self.failure)

    def fill_bitmask(self, bitmask: Tensor, batch_index: int) -> None:
        allowed = np.zeros(bitmask.shape[1] * _WORD, bool)
        allowed[:len(self._walk.allowed)] = self._walk.allowed
        words = np.packbits(allowed, bitorder="little").view(np.int32)
        bitmask[batch_index] = torch.from_numpy(words)

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        raise NotImplementedError("no draft model is used")

    def rollback(self, num_tokens: int) -> None:
        raise NotImplementedError("no draft model is used")

    def reset(self) -> None:
        raise NotImplementedError("no sample begins twice")


class Guides(StructuredOutputBackend):
    """The grammars of one vLLM engine's requests."""

    def __init__(self, llm: LLMEngine) -> None:
        """Take the place of vLLM's own grammars in an engine that runs in this process."""
        super().__init__(llm.vllm_config, None, llm.vllm_config.model_config.get_vocab_size())
        self._samples = dict[str, GuidedSample]()
        core: Any = llm.engine_core
        manager = core.engine_core.structured_output_manager
        manager.backend, manager._use_async_grammar_compilation = self, False
        # It would refuse every grammar without a tokenizer. Nothing else is checked that we did not check.
        inputs: Any = llm.input_processor
        inputs.structured_outputs_config = None

    def name(self, key: str, sample: GuidedSample) -> StructuredOutputsParams:
        """Return the parameters that name a sample to vLLM by the key of its request."""
        self._samples[key] = sample
        return StructuredOutputsParams(grammar=key)

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str,  # noqa: ARG002 — vLLM's
        stop_token_ids: set[int] | None = None,  # noqa: ARG002
    ) -> StructuredOutputGrammar:
        return self._samples.pop(grammar_spec)

    def allocate_token_bitmask(self, max_num_seqs: int) -> Tensor:
        return torch.full((max_num_seqs, -(-self.vocab_size // _WORD)), -1, dtype=torch.int32)

    def destroy(self) -> None:
        self._samples.clear()
