"""The weights that comparisons start from: small policies made once and kept on disk."""

import hashlib
import inspect
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from hone.models import toy

CACHE = Path("benchmarks/.cache")
Example = tuple[str, str]
_END_ODDS = (47 / 48) / 10 * 48  # of one digit against the end


def prepare(start: str, seed: int = 0) -> Path:
    """Return the directory of the named start's weights, trained on first use and found again afterwards."""
    kept = CACHE / f"{start}-{seed}-{_fingerprint()}"
    if not kept.exists():
        STARTS[start](kept.with_suffix(".part"), seed)
        kept.with_suffix(".part").rename(kept)
    return kept


def noisy_sort(target: Path, seed: int) -> None:
    """Train 0.53M weights on sorted digits of which 7 answers in 10 have one digit wrong: T=1 accuracy about 0.44."""
    _train(toy.write(target, seed), _batches(seed, _noisy_sorting, batch=128), steps=250)


def random_digits(target: Path, seed: int) -> None:
    """Write 0.53M weights that emit uniform digits and end after any with probability 1 / 48, built, not trained.

    Blocks add nothing yet, and the first dimension of every token's embedding says how likely it comes next; all of it
    can be learnt away.
    """
    file = toy.write(target, seed) / "model.safetensors"
    tensors = load_file(file)
    for name, tensor in tensors.items():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            tensor[:] = 0
    embedding = tensors["model.embed_tokens.weight"]
    embedding /= 4  # a token shall hardly predict itself
    embedding[:, 0] = -1
    embedding[[toy.SYMBOLS.index(symbol) for symbol in "0123456789"], 0] = 1
    embedding[toy.SYMBOLS.index(":"), 0] = 0.1  # seen like a digit, as length is normalized away, and hardly said
    embedding[toy.EOS, 0] = 1 - math.log(_END_ODDS) / math.sqrt(embedding.shape[1])
    save_file(tensors, file, metadata={"format": "pt"})


def random_weights(target: Path, seed: int) -> None:
    """Write 6.03M untrained weights: for what does not depend on what is said."""
    toy.write(target, seed, hidden=256, layers=6, heads=4, kv_heads=2, head_dim=64, ffn=1024, vocab_size=512)


STARTS: dict[str, Callable[[Path, int], None]] = {
    "noisy_sort": noisy_sort,
    "random_digits": random_digits,
    "random_weights": random_weights,
}


def _noisy_sorting(source: random.Random) -> Example:
    digits = f"{source.randrange(10**5):05d}"
    answer = sorted(digits)
    if source.random() < 0.7:
        place = source.randrange(len(answer))
        answer[place] = source.choice([digit for digit in "0123456789" if digit != answer[place]])
    return f"s{digits}=", "".join(answer)


def _batches(seed: int, example: Callable[[random.Random], Example], batch: int) -> Iterator[list[Example]]:
    source = random.Random(seed)
    while True:
        yield [example(source) for _ in range(batch)]


def _train(directory: Path, batches: Iterator[list[Example]], steps: int) -> None:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(directory)
    encode = AutoTokenizer.from_pretrained(directory).encode
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 20))
    for step in range(steps):
        loss = _loss(model, *_tensors(next(batches), encode))
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 25 == 24:
            print(f"warm start: step {step + 1} of {steps}, loss {loss.item():.3f}", file=sys.stderr)
    model.save_pretrained(directory)


def _tensors(examples: list[Example], encode: Callable[[str], list[int]]) -> tuple[Tensor, Tensor]:
    """Return padded ids and labels [B, T]; labels are -100 on prompts and padding."""
    asked = [encode(prompt) for prompt, _ in examples]
    answers = [[*encode(answer), toy.EOS] for _, answer in examples]
    width = max(len(prompt) + len(answer) for prompt, answer in zip(asked, answers, strict=True))
    ids = torch.full((len(examples), width), toy.PAD)
    labels = torch.full((len(examples), width), -100)
    for row, (prompt, answer) in enumerate(zip(asked, answers, strict=True)):
        end = len(prompt) + len(answer)
        ids[row, :end] = torch.tensor(prompt + answer)
        labels[row, len(prompt):end] = torch.tensor(answer)
    return ids, labels


def _loss(model: PreTrainedModel, ids: Tensor, labels: Tensor) -> Tensor:
    logits = model(input_ids=ids).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


def _fingerprint() -> str:
    text = inspect.getsource(sys.modules[__name__]) + inspect.getsource(toy)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
