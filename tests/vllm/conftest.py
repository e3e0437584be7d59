"""vLLM reads its switches when it is imported, so they are set before a test module imports it."""

from services.inference.vllm import options

options.prepare_process()

