"""OPD, AOPD and the divergence on the teacher's top-K, over whole distributions of V probabilities, loop by loop."""

import math

import numpy as np

Array = np.ndarray


def top(p_teacher: Array, k: int) -> list[int]:
    return sorted(range(len(p_teacher)), key=lambda v: -p_teacher[v])[:k]


def log(p: float) -> float:
    return max(math.log(p), -60.0) if p > 0 else -60.0


def divergence(p_teacher: Array, p_student: Array, k: int, mode: str, direction: str) -> float:
    """The pairs (first, second) are summed as first ln(first / second)."""
    inside = top(p_teacher, k)
    pairs = [(p_teacher[v], p_student[v]) for v in inside]
    mass, reached = sum(p for p, _ in pairs), sum(q for _, q in pairs)
    if mode == "renorm":
        pairs = [(p / mass, q / reached) for p, q in pairs]
    if mode == "tail_bucket" and k < len(p_teacher) and 1 - mass >= 1e-6:
        pairs.append((1 - mass, sum(p_student[u] for u in range(len(p_student)) if u not in inside)))
    if direction == "reverse":
        pairs = [(q, p) for p, q in pairs]
    return sum(first * (log(first) - log(second)) for first, second in pairs if first > 0)


def gradient(p_teacher: Array, p_student: Array, k: int, mode: str) -> Array:
    """Return the gradient of the forward divergence with respect to the student's logits."""
    inside = top(p_teacher, k)
    mass, reached = sum(p_teacher[v] for v in inside), sum(p_student[v] for v in inside)
    out = np.zeros(len(p_student))
    for v in range(len(p_student)):
        p, q = p_teacher[v], p_student[v]
        if mode == "renorm":
            out[v] = q / reached - p / mass if v in inside else 0.0
        elif mode == "truncated" or k == len(p_teacher) or 1 - mass < 1e-6:
            out[v] = q * mass - p if v in inside else q * mass
        else:
            out[v] = q - p if v in inside else q * (1 - (1 - mass) / (1 - reached))
    return out


def advantage(teacher: Array, old: Array, kappa: float, cap: float, outcome: Array) -> Array:
    out = np.zeros(len(old))
    for t in range(len(old)):
        a = teacher[t] - old[t] + outcome[t]
        if a > kappa:
            out[t] = min(a, cap)
    return out


def token_loss(logp: float, old: float, teacher: float, kappa: float, imitation: float, cap: float = 5.0) -> float:
    a = teacher - old
    if a <= kappa:
        return imitation
    a, rho = min(a, cap), math.exp(min(max(logp - old, -20), 20))
    return -min(rho * a, min(max(rho, 0.8), 1.2) * a)
