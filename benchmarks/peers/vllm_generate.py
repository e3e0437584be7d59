"""vLLM in its own environment, stepped in this process: generates what it is told to, and says when it is through.

    .venv-vllm/bin/python -m benchmarks.peers.vllm_generate DIRECTORY --threads N --dtype float32 [--eager]

Reads one job a line from stdin, {"groups": [[[id], length, samples]]}, and answers each by {"tokens": n}; first, when
it is ready, by the versions it runs. Prefix cache on, log-probs of the sampled tokens, lengths forced.
"""

import argparse
import json
import os
import sys
from typing import Any

_SWITCHES = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "HF_HUB_OFFLINE": "1",
             "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}


def engine(chosen: argparse.Namespace) -> Any:
    """Return vLLM over the model in a directory."""
    os.environ |= _SWITCHES | {"OMP_NUM_THREADS": str(chosen.threads)}
    import vllm  # reads those as it is imported

    return vllm.LLM(
        model=chosen.directory, skip_tokenizer_init=True, dtype=chosen.dtype, enforce_eager=chosen.eager,
        max_model_len=512, max_num_seqs=256, max_num_batched_tokens=8192, kv_cache_memory_bytes=1 << 30,
        enable_prefix_caching=True, seed=0, disable_log_stats=True)


def generate(llm: Any, job: dict[str, Any]) -> int:
    """Return how many tokens were made for a job."""
    from vllm import SamplingParams

    prompts = [{"prompt_token_ids": ids} for ids, _, _ in job["groups"]]
    params = [SamplingParams(n=samples, max_tokens=length, ignore_eos=True, temperature=1.0, logprobs=0,
                             detokenize=False, flat_logprobs=True) for _, length, samples in job["groups"]]
    answers = llm.generate(prompts, params, use_tqdm=False)
    return sum(len(sample.token_ids) for one in answers for sample in one.outputs)


def main() -> None:
    """Make the engine, then do jobs until stdin ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--eager", action="store_true")
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print
    llm = engine(parser.parse_args())
    import torch
    import vllm

    print(json.dumps({"vllm": vllm.__version__, "torch": torch.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps({"tokens": generate(llm, json.loads(line))}), file=answers, flush=True)


if __name__ == "__main__":
    main()
