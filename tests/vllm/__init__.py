"""Tests of the vLLM engine, run by the Python of its environment: `make vllm-test`."""
