"""Self-verify in plain loops: sizes of a verification batch, rewards of verdicts, scores of a vote."""

import math


def batch_size(groups: list[tuple[list[int], list[bool]]]) -> int:
    """Return the number of items of one label. A group is (outcomes, valid flags). Draws never change the count."""
    asked = positives = negatives = more_positives = more_negatives = 0
    for outcomes, valid in groups:
        correct = wrong = 0
        for place in range(len(outcomes)):
            if valid[place] and outcomes[place] == 1:
                correct += 1
            if valid[place] and outcomes[place] == 0:
                wrong += 1
        if correct + wrong == 0:
            continue
        asked += 1
        if correct > 0 and wrong > 0:
            positives, negatives = positives + 1, negatives + 1
            if correct > 1:
                more_positives += 1
            if wrong > 1:
                more_negatives += 1
        elif correct > 0:
            more_positives += 1
    half = math.floor(asked / 2)
    reached = []
    for have, pool in ((positives, more_positives), (negatives, more_negatives)):
        filled = have
        while filled < half and pool > 0:
            filled += 1
        reached.append(min(filled, half))
    return min(reached)


def pass_rate(outcomes: list[int]) -> float:
    correct = 0
    for outcome in outcomes:
        correct += outcome
    return correct / len(outcomes)


def reward(
    right: bool, rho: float, length: int, max_length: int = 10240, buffer: int = 512, factor: float = 0.0
) -> float:
    """Lengths up to max_length."""
    over = (length - (max_length - buffer)) / buffer
    base = (rho if rho < 0.5 else 0.5) if right else 0.0
    return base - factor * (over if over > 0 else 0.0)


def winner(answers: list[str], yes: dict[str, list[int]]) -> str:
    """Index by index: yes[a] are the verdicts on a as 0 and 1."""
    best, best_key = answers[0], (-1.0, -1)
    for answer in answers:
        count = 0
        for other in answers:
            if other == answer:
                count += 1
        key = (count * sum(yes[answer]) / len(yes[answer]), count)
        if key[0] > best_key[0] or (key[0] == best_key[0] and key[1] > best_key[1]):
            best, best_key = answer, key
    return best


def standardised(rewards: list[float], eps: float = 1e-6) -> list[float]:
    mean = sum(rewards) / len(rewards)
    variance = sum((each - mean) ** 2 for each in rewards) / (len(rewards) - 1)
    return [(each - mean) / (math.sqrt(variance) + eps) for each in rewards]
