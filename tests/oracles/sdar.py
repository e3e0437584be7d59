"""SDAR's gates and side objective over lists of tokens, and the advantages of its relative RLSD."""

import math


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def gate(kind: str, beta: float, delta: float, entropy: float = 0.0) -> float:
    score = {"gap": delta, "entropy": entropy, "soft_or": 1 - (1 - entropy) * (1 - delta)}[kind]
    return sigmoid(beta * score)


def factor(g: float, negative: float) -> float:
    return g - negative * (1 - g)


def side(
    kind: str, beta: float, negative: float, teacher: list[float], student: list[float], entropy: list[float],
    mask: list[bool],
) -> list[float]:
    """Summands of L_aux; the gate is a constant of the gradient, so the student's slope is minus the factor."""
    out = []
    for t, s, h, m in zip(teacher, student, entropy, mask, strict=True):
        out.append(factor(gate(kind, beta, t - s, h), negative) * (t - s) if m else 0.0)
    return out


def rlsd(advantage: float, delta: float, step: int, start: float = 0.5, steps: int = 50, e: float = 0.2) -> float:
    share = start * max(0.0, 1 - step / steps)
    sign = (advantage > 0) - (advantage < 0)
    return advantage * (1 - share + share * min(max(math.exp(sign * delta), 1 - e), 1 + e))
