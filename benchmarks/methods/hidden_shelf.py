"""A clone of experts who know where the thing is, and clones of experts who look first: which one finds it? MAP.

HiddenShelf with N = 6 shelves and one attempt, played by the real environment and harnesses (`chat`, `map_then_act`).
Every clone is a transformer over words (two layers of 48) that is trained from scratch on 500 successful episodes, the
loss on all words that the teacher wrote and on none that it read, for as many updates of equal size. The teacher of
`B` looks at the shelves 1 to B in order, writes where it saw the thing, or else that it saw nothing, and goes where the
thing is: no clone can know that for shelves that nobody looked at. Answers are greedy. Seeds that were not trained on
are new episodes of the same six worlds, so that success comes from looking and not from a world that is remembered. A
map needs two rows an episode more than an expert; with as many updates each of them is seen a third as often.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from benchmarks.methods.local_play import Asked, LocalPlay, chains
from hone.environments.contract import Message
from hone.environments.hidden_shelf import HiddenShelf, HiddenShelfEpisode, HiddenShelfParams

PLACES, EPISODES, TESTS, UPDATES, ROWS, RATE = 6, 500, 200, 200, 32, 3e-3
WIDTH, LAYERS, HEADS, LONGEST, ANSWER_WORDS = 48, 2, 4, 320, 40
VARIANTS = {"expert": 0, "map B=1": 1, "map B=3": 3, "map B=5": 5}
TEXTS = {"explore": "{task}Look around.\n", "signals": "", "write": "{task}You saw:\n{history}\nMap:\n", "window": 99,
         "append": False}
PAD, SAYS, END = 0, 1, 2
_WORDS = re.compile(r"\w+|[^\w\s]|\n")
Row = tuple[list[int], list[bool]]
"""The ids of a conversation, and which of them the teacher wrote."""


class Clone(nn.Module):
    """A causal transformer over words."""

    def __init__(self, words: int) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.words, self.places = nn.Embedding(words, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.body = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, words)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits after each word, [rows, words of a row, words]."""
        length = ids.shape[1]
        later = torch.triu(torch.full((length, length), -torch.inf), 1)
        seen = self.words(ids) + self.places.weight[:length]
        logits: Tensor = self.head(self.body(seen, mask=later, is_causal=True))
        return logits


class Words:
    """Ids of words. A word that no teacher used is padding."""

    def __init__(self) -> None:
        self.known = {"": PAD, "<says>": SAYS, "<end>": END}

    def row(self, talk: Sequence[Message], learn: bool = True) -> Row:
        """Return a conversation as a row; without `learn` as the prompt of an answer."""
        ids, wrote = list[int](), list[bool]()
        for one in talk:
            answer = one["role"] == "assistant"
            own = [self._id(word, learn) for word in _WORDS.findall(one["content"])]
            ids += [SAYS, *own, END] if answer else own
            wrote += [False, *[True] * (len(own) + 1)] if answer else [False] * len(own)
        return (ids, wrote) if learn else ([*ids, SAYS], [*wrote, False])

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of an answer, with spaces between its words."""
        names = list(self.known)
        return re.sub(r" ?\n ?", "\n", " ".join(names[one] for one in ids))

    def _id(self, word: str, learn: bool) -> int:
        return self.known.setdefault(word, len(self.known)) if learn else self.known.get(word, PAD)


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train a clone and play new episodes with it; the curve is the loss."""
    budget, words = VARIANTS[variant], Words()
    rows = [words.row(chain) for number in range(EPISODES) for chain in _taught(budget, seed, number)]
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        clone = Clone(len(words.known))
        curve = list(_trained(clone, rows, generator))
    played = [_sample(budget, seed, EPISODES + number) for number in range(TESTS)]
    _answered(played, lambda asked: _answers(clone, words, asked))
    return Outcome(_figures(played), curve)


def _sample(budget: int, seed: int, number: int) -> LocalPlay:
    harness = ("map_then_act", {**TEXTS, "budget": budget}) if budget else ("chat", {})
    params = HiddenShelfParams(places=PLACES, spare=0, attempts=1, turns=8)
    return LocalPlay(HiddenShelf().episode(params, 100_000 * seed + number, None), *harness)


def _taught(budget: int, seed: int, number: int) -> list[list[Message]]:
    """Return the conversations of the teacher's episode; it succeeds always."""
    one = _sample(budget, seed, number)
    _answered([one], lambda asked: [_teacher(one.episode, budget, one.calls, asked[0].kind)])
    return chains(one.calls)


def _teacher(episode: Any, budget: int, calls: Sequence[Asked], kind: str) -> str:
    assert isinstance(episode, HiddenShelfEpisode)
    done, solution = sum(call.kind == kind for call in calls), episode.solution()
    if kind == "explore":
        return f"go to shelf {done + 1}"
    if kind != "map":
        return solution[done]
    place, seen = solution[0].removeprefix("go to "), [f"shelf {shelf}" for shelf in range(1, budget + 1)]
    return f"{place} contains mug" if place in seen else "\n".join(f"{one} contains nothing" for one in seen)


def _answered(samples: Sequence[LocalPlay], answers: Callable[[Sequence[Asked]], Sequence[str]]) -> None:
    """Play samples to their end beside each other."""
    plays = [(play, next(play)) for play in (one.playing() for one in samples)]
    while plays:
        texts, going = answers([asked for _, asked in plays]), []
        for (play, _), text in zip(plays, texts, strict=True):
            try:
                going.append((play, play.send(text)))
            except StopIteration:
                continue
        plays = going


def _trained(clone: Clone, rows: Sequence[Row], generator: torch.Generator) -> Iterator[float]:
    """Train on batches of rows; yield each loss, the mean over the words that the teacher wrote."""
    optimizer = torch.optim.AdamW(clone.parameters(), lr=RATE)
    ids, wrote = _padded([row[0] for row in rows]), _padded([list(map(int, row[1])) for row in rows])
    for update in range(UPDATES):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, 2 * (1 - update / UPDATES))
        batch = torch.randint(len(rows), (ROWS,), generator=generator)
        seen, mask = ids[batch], wrote[batch][:, 1:].bool()
        loss = nn.functional.cross_entropy(clone(seen)[:, :-1][mask], seen[:, 1:][mask])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        yield loss.item()


def _padded(rows: Sequence[list[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


@torch.no_grad()
def _answers(clone: Clone, words: Words, asked: Sequence[Asked]) -> list[str]:
    """Return the likeliest answer to each conversation, word by word up to its end."""
    prompts = [words.row(one.said, learn=False)[0] for one in asked]
    said = [list[int]() for _ in prompts]
    open_ = list(range(len(prompts)))
    for _ in range(ANSWER_WORDS):
        whole = [prompts[place] + said[place] for place in open_]
        logits = clone(_padded(whole))[range(len(whole)), [len(one) - 1 for one in whole]]
        for place, word in zip(open_, logits.argmax(-1).tolist(), strict=True):
            said[place].append(word)
        open_ = [place for place in open_ if said[place][-1] != END]
        if not open_:
            break
    return [words.text(one[:-1] if one[-1] == END else one) for one in said]


def _figures(played: Sequence[LocalPlay]) -> dict[str, float]:
    success = sum(one.episode.verify() or 0 for one in played) / len(played)
    failed = sum(not step.valid for one in played for step in one.steps)
    maps = [noted["precision"] for one in played for noted in one.notes("map") if noted["precision"] is not None]
    return {"success": success, "steps": sum(len(one.steps) for one in played) / len(played),
            "failed steps": failed / len(played),
            **({"map precision": sum(maps) / len(maps)} if maps else {})}


HIDDEN_SHELF = Experiment(
    "map.md (b)", "Does a clone of experts who look first find what a clone of experts who know cannot?", "loss",
    tuple(VARIANTS), run,
    (Expectation("expert: success within 0.05 of 1/N",
                 lambda m: abs(m["expert"]["success"] - 1 / PLACES) < 0.05),
     Expectation("map B=5: success > 0.9", lambda m: m["map B=5"]["success"] > 0.9),
     Expectation("success within 0.05 of the closed form (B + 1)/N for every B",
                 lambda m: all(abs(m[name]["success"] - (budget + 1) / PLACES) < 0.05
                               for name, budget in VARIANTS.items())),
     Expectation("map B=5 takes more steps than expert, and fewer of them fail",
                 lambda m: m["map B=5"]["steps"] > m["expert"]["steps"]
                 and m["map B=5"]["failed steps"] < m["expert"]["failed steps"])),
    seeds=3)
