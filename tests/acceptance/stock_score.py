"""Scores a model directory with stock transformers. It runs as a script that cannot import hone.

    python -I stock_score.py DIRECTORY < {"prompts": [...], "answers": [...], "max_tokens": N, "seed": N}

Prints {"greedy": share right, "sampled": share right}.
"""

import json
import sys

sys.modules["hone"] = None  # type: ignore[assignment]  # from here on, importing hone is an error

import torch  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402


def main() -> None:
    """Answer every prompt greedily and once at temperature 1."""
    work = json.load(sys.stdin)
    torch.set_num_threads(1)
    torch.manual_seed(work["seed"])
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
    inputs = tokenizer(work["prompts"], return_tensors="pt", padding=True, add_special_tokens=False)
    inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    shares = {}
    for name, options in (("greedy", {"do_sample": False}), ("sampled", {"do_sample": True, "temperature": 1.0})):
        ids = model.generate(**inputs, **options, top_k=0, top_p=1.0, max_new_tokens=work["max_tokens"])
        texts = tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1]:], skip_special_tokens=True)
        right = sum(text == answer for text, answer in zip(texts, work["answers"], strict=True))
        shares[name] = right / len(texts)
    print(json.dumps(shares))


main()
