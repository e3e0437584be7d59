"""`python -m hone.models.verify DIR [ADAPTER]`: compares log-probabilities with those of stock transformers.

DIR is a model's directory. ADAPTER is an adapter's directory, which PEFT loads.

Reads batches, [{"ids": [[int]], "logp": [[float]]}], from stdin; `logp` are nats of every token but the first of each
sequence. Prints {"max_abs_diff": float, "transformers": version}. Imports nothing else of hone. Exits with 1 and the
reason on stderr if a directory does not load.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

import torch
import transformers


def loaded(directory: str, adapter: str | None = None) -> Any:
    """Return the model in float32. Raises what transformers and PEFT raise."""
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, local_files_only=True)
    if adapter is None:
        return model
    import peft
    return peft.PeftModel.from_pretrained(model, adapter, local_files_only=True)


def largest_difference(model: Any, ids: Sequence[Sequence[int]], logp: Sequence[Sequence[float]]) -> float:
    """Return the largest absolute difference of a log-probability, float32."""
    tokens = torch.tensor(ids)
    with torch.no_grad():
        computed = model(tokens).logits[:, :-1].log_softmax(dim=-1).gather(2, tokens[:, 1:, None]).squeeze(2)
    return float((computed.double() - torch.tensor(logp, dtype=torch.float64)).abs().max())


def main() -> None:
    """Compare and print. If a directory does not load, the process ends with a traceback."""
    batches, model = json.load(sys.stdin), loaded(*sys.argv[1:])
    difference = max(largest_difference(model, batch["ids"], batch["logp"]) for batch in batches)
    print(json.dumps({"max_abs_diff": difference, "transformers": transformers.__version__}))


if __name__ == "__main__":
    main()
