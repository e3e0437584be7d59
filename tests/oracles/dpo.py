"""DPO over pairs of (winner, loser), each side a list of (log pi, log pi_ref) of its masked tokens."""

import math

Side = list[tuple[float, float]]


def margin(winner: Side, loser: Side, beta: float, normalised: bool = False) -> float:
    ratios = [sum(new - ref for new, ref in side) / (len(side) if normalised else 1) for side in (winner, loser)]
    return beta * (ratios[0] - ratios[1])


def loss(h: float) -> float:
    return math.log1p(math.exp(-h))


def joint(
    pairs: list[tuple[Side, Side]], local: list[bool], beta: float, alpha: float, nll: float, normalised: bool = False
) -> float:
    total = 0.0
    for kind, weight in ((False, 1.0), (True, alpha)):
        chosen = [pair for pair, flag in zip(pairs, local, strict=True) if flag == kind]
        if chosen:
            tokens = [new for winner, _ in chosen for new, _ in winner]
            mean = sum(loss(margin(*pair, beta, normalised)) for pair in chosen) / len(chosen)
            total += weight * (mean + nll * -sum(tokens) / len(tokens))
    return total
