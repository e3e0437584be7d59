"""vLLM reads its switches as it is imported: they are set before any test module is, as the service does it."""

from services.inference.vllm import options

options.prepare_process()

