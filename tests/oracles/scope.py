"""SCOPE over rows b with outcomes, groups and ragged lists of log-probabilities; weights from perplexities."""

import math


def _powers(rows: list[list[float]], exponent: float) -> list[float]:
    perplexities = [math.exp(-max(sum(row) / len(row), -8.0)) for row in rows]
    return [ppl**exponent for ppl in perplexities]


def weights(
    outcome: list[float], group: list[int], student: list[list[float]], teacher: list[list[float]],
    tau: float = 1.0, student_sign: int = 1, teacher_sign: int = 1, threshold: float = 0.0,
) -> list[float]:
    """Return W of the correct rows and Q of the wrong rows."""
    out = [0.0] * len(outcome)
    for number in set(group):
        for correct in (True, False):
            rows = [b for b in range(len(group)) if group[b] == number and (outcome[b] > threshold) == correct]
            chosen = [student[b] if correct else teacher[b] for b in rows]
            powers = _powers(chosen, student_sign / tau if correct else -teacher_sign / tau)
            for b, power in zip(rows, powers, strict=True):
                out[b] = len(rows) * power / sum(powers)
    return out


def losses(
    outcome: list[float], weight: list[float], student: list[list[float]], teacher: list[list[float]], legacy: bool
) -> tuple[float, float]:
    """Return L_c and L_w at ratio 1."""
    correct = [b for b in range(len(outcome)) if outcome[b] > 0]
    wrong = [b for b in range(len(outcome)) if outcome[b] <= 0]
    right_tokens, wrong_tokens = (sum(len(student[b]) for b in rows) for rows in (correct, wrong))
    own = sum(weight[b] * -s for b in correct for s in student[b])
    taught = -sum(weight[b] * (t - s) for b in wrong for s, t in zip(student[b], teacher[b], strict=True))
    denominator = right_tokens + wrong_tokens if legacy else wrong_tokens
    return own / right_tokens if correct else 0.0, taught / denominator if wrong else 0.0


def k3(now: float, teacher: float) -> tuple[float, float]:
    """The distance on one token in the loss, and its slope by `now`."""
    d = min(max(teacher - now, -20.0), 20.0)
    value = math.exp(d) - d - 1
    return (10.0, 0.0) if value > 10 else (value, 1 - math.exp(d))


def reverse_kl(now: list[float], teacher: list[float]) -> float:
    """The distance on the same ids, whose probabilities need not add up to 1."""
    q, p = ([math.exp(each) / sum(map(math.exp, row)) for each in row] for row in (now, teacher))
    return sum(a * (math.log(a) - math.log(b)) for a, b in zip(q, p, strict=True))


def in_loss(outcome: list[float], weight: list[float], distances: list[list[float]]) -> float:
    """L_w of distances at each token."""
    wrong = [b for b in range(len(outcome)) if outcome[b] <= 0]
    tokens = sum(len(distances[b]) for b in wrong)
    return sum(weight[b] * each for b in wrong for each in distances[b]) / tokens if wrong else 0.0
