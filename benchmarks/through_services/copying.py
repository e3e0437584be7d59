"""A base that can copy: a tiny policy pretrained on lists of made-up names, in place of what a language model has read.

    python -m benchmarks.through_services.copying --out DIR      make one, and say how well it copies

A text is a list of names, a line break, and the same names in another order, each written as before; the policy learns
what stands behind the line break. Names, their order, their number and the signs between them are drawn anew for every
text: one to three words, joined by one sign; a word is one to four pieces and perhaps a letter, or two digits. The
pieces are those by which the words of all domains are spelled. No text has a tool, an instruction or a domain, and none
writes a name in two ways. Lists become longer, one name at a time, when the policy has learned the shorter ones.
"""

import argparse
import random
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.through_services import domains
from hone.models import toy

JOINED, PARTED = ("_", " ", "-", ".", ":"), ("\n", ", ", "; ", " / ", ": ", ". ", " | ")
MOST_NAMES, TEXTS, STEPS, LOOK, LR = 4, 48, 4000, 50, 5e-3
LEARNED = (0.7, 0.65, 0.7)
"""Share of right tokens from which lists of one, two and three names become longer; names' first pieces are guesses."""
ENOUGH = 0.95
_SIZES: dict[str, Any] = {"hidden": 64, "ffn": 128}
Text = tuple[str, str]


def name(chance: random.Random, pieces: Sequence[str]) -> str:
    """Return a made-up name."""
    return chance.choice(JOINED).join(_word(chance, pieces) for _ in range(chance.randint(1, 3)))


def _word(chance: random.Random, pieces: Sequence[str]) -> str:
    if chance.random() < 0.15:
        return f"{chance.randrange(100):02}"
    last = chance.choice(string.ascii_lowercase) if chance.random() < 0.4 else ""
    return "".join(chance.choice(pieces) for _ in range(chance.randint(1, 4))) + last


def text(chance: random.Random, pieces: Sequence[str], names: int) -> Text:
    """Return a list of names and a line break, and what follows: the same names in another order."""
    listed, sign = [name(chance, pieces) for _ in range(names)], chance.choice(PARTED)
    return sign.join(listed) + "\n", sign.join(chance.sample(listed, names))


class Copier:
    """A policy in pretraining, from the directory of a model with random weights."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._tokenizer = directory, AutoTokenizer.from_pretrained(directory)
        self._model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=LR, betas=(0.9, 0.95), weight_decay=0.0)

    def learn(self, texts: Sequence[Text], lr: float) -> float:
        """Take one step on the second parts of texts; return the share of tokens that were right before it."""
        self._optimizer.param_groups[0]["lr"] = lr
        logits, targets = self._predicted(texts, given=0)
        known = targets != -100
        loss = torch.nn.functional.cross_entropy(logits[known], targets[known])
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimizer.step()
        return (logits.argmax(-1) == targets)[known].float().mean().item()

    @torch.no_grad()
    def copies(self, texts: Sequence[Text]) -> float:
        """Return the share of second parts that follow, greedily and whole, once their first token is given."""
        logits, targets = self._predicted(texts, given=1)
        targets = targets.masked_fill(targets == toy.EOS, -100)  # names that follow in training are not asked for
        return ((logits.argmax(-1) == targets) | (targets == -100)).all(1).float().mean().item()

    def save(self) -> None:
        """Write the weights over those of the directory."""
        weights = self._model.state_dict().items()
        tensors = {key: value.contiguous() for key, value in weights if key != "lm_head.weight"}  # tied
        safetensors.torch.save_file(tensors, self._directory / "model.safetensors", metadata={"format": "pt"})

    def _predicted(self, texts: Sequence[Text], given: int) -> tuple[Tensor, Tensor]:
        """Return logits [texts, length - 1, vocabulary] and targets, -100 where nothing is to be predicted."""
        encoded = [(self._tokens(first), [*self._tokens(second), toy.EOS]) for first, second in texts]
        ids = _padded([first + second for first, second in encoded], toy.PAD)
        targets = _padded([[-100] * (len(first) + given) + second[given:] for first, second in encoded], -100)
        return self._model(ids[:, :-1]).logits, targets[:, 1:]

    def _tokens(self, part: str) -> list[int]:
        found: list[int] = self._tokenizer(part, add_special_tokens=False)["input_ids"]
        return found


def _padded(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows])


def fresh(pieces: Sequence[str], count: int, seed: int) -> Iterator[Text]:
    """Yield lists of the most names, each with one of its names."""
    chance = random.Random(f"fresh {seed}")
    for _ in range(count):
        listed = [name(chance, pieces) for _ in range(MOST_NAMES)]
        yield "\n".join(listed) + "\n", chance.choice(listed)


def pieces() -> list[str]:
    """Return the pairs of letters by which the words of all domains are spelled."""
    return domains.pairs([domains.short_package(one, 60) for one in (*domains.TRAINED, *domains.UNSEEN)])


def make(directory: Path, seed: int = 0) -> None:
    """Pretrain a base into the directory, until it copies or `STEPS` are taken."""
    spelled = pieces()
    symbols = domains.symbols(spelled)
    toy.write(directory, seed, symbols=symbols, vocab_size=-(-len(symbols) // 64) * 64, **_SIZES)
    copier, chance, longest, right = Copier(directory), random.Random(f"names {seed}"), 1, list[float]()
    for step in range(1, STEPS + 1):
        texts = [text(chance, spelled, chance.randint(min(2, longest), longest)) for _ in range(TEXTS)]
        right.append(copier.learn(texts, LR * min(1.0, step / LOOK)))
        if step % LOOK == 0:
            copied = copier.copies(list(fresh(spelled, 256, seed)))
            copier.save()
            print(f"{step} steps, lists of {longest}: {sum(right) / LOOK:.3f} right, {copied:.3f} of fresh copied",
                  flush=True)
            if longest == MOST_NAMES and copied >= ENOUGH:
                break
            longest += longest < MOST_NAMES and sum(right) / LOOK >= LEARNED[longest - 1]
            right.clear()


def main() -> None:
    """Make a base."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services.copying", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    make(args.out, args.seed)


if __name__ == "__main__":
    main()
