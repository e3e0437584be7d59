"""Metrics in the order in which people read them: groups, names in words, the curves of a first look."""

from collections.abc import Iterable

GROUPS: dict[str, tuple[str, ...]] = {
    "Reward": ("reward/", "reward"),
    "Held-out evaluation": ("eval/",),
    "Trainer-sampler gap": ("gap/", "gap_nats"),
    "Staleness and pace": ("staleness/", "groups/", "trainer/idle_s", "engine/idle_s"),
    "Optimization": ("loss", "grad_norm", "lr", "entropy", "clip", "ratio", "kl", "correction/", "baseline"),
    "Groups and signal": ("groups", "zero_variance_groups", "single_sample_groups", "masked_samples", "rejected_rows",
                          "filter"),
    "Lengths": ("completion/", "prompt/"),
    "Work and time": ("trainer/", "storage/", "engine/", "trained_tokens", "forward_tokens"),
}
"""Title -> names, or beginnings of names; the first group that fits takes a metric."""
OTHER = "Other"

FIRST_LOOK = ("reward/mean", "eval/", "gap/mean", "staleness/mean", "entropy", "completion/mean_tokens")
"""What a run's page shows without being asked, as far as it is there."""

_WORDS = {
    "reward/mean": "Mean reward", "reward/masked": "Masked samples", "gap/mean": "Trainer-sampler gap, nats a token",
    "gap/max": "Largest gap, nats", "staleness/mean": "Mean staleness, versions",
    "staleness/max": "Largest staleness, versions", "completion/mean_tokens": "Mean answer, tokens",
    "completion/max_tokens": "Longest answer, tokens", "completion/tokens": "Answers, tokens",
    "completion/truncated": "Truncated answers, share", "grad_norm": "Gradient norm", "lr": "Learning rate",
    "entropy": "Entropy, nats a token", "loss": "Loss", "groups/expired": "Expired groups so far",
    "trainer/idle_s": "Trainer idle, s", "engine/idle_s": "Engines idle, s", "eval/masked": "Held-out masked samples",
}


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """Return names by group, groups in reading order, none of them empty."""
    found: dict[str, list[str]] = {title: [] for title in [*GROUPS, OTHER]}
    known = list(_WORDS)
    for name in sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name)):
        found[_group(name)].append(name)
    return {title: members for title, members in found.items() if members}


def _group(name: str) -> str:
    exact = next((title for title, members in GROUPS.items() if name in members), None)
    return exact or next((title for title, members in GROUPS.items() if name.startswith(members)), OTHER)


def words(name: str) -> str:
    """Return a metric's name in words."""
    if name.startswith("eval/") and name not in _WORDS:
        return f"Held-out accuracy, {name.removeprefix('eval/')}"
    return _WORDS.get(name) or name.replace("/", ": ").replace("_", " ").capitalize()


def first_look(names: Iterable[str]) -> list[str]:
    """Return the metrics that a run's page begins with."""
    known = sorted(name for name in names if name != "eval/masked")
    return [name for wanted in FIRST_LOOK for name in known
            if name == wanted or (wanted.endswith("/") and name.startswith(wanted))]
