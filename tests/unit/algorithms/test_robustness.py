"""The figures of noise: pass^k, drops against clean twins, and stability, at the spec's numbers."""

from statistics import fmean

import pytest

from hone.algorithms.robustness import Trial, pass_hat, report, similarity


def trials(noise: str, scores: dict[str, list[float]], tools: tuple[str, ...] = ("read", "act")) -> list[Trial]:
    return [Trial(noise, task, score, 10, 2, tools, int(bool(noise))) for task, found in scores.items()
            for score in found]


def test_pass_hat_is_that_of_the_spec_and_falls_with_k() -> None:
    assert [pass_hat(c, 4, 2) for c in (3, 4, 1)] == [0.5, 1.0, 0.0]
    assert fmean(pass_hat(c, 4, 2) for c in (3, 4, 1)) == 0.5
    [clean] = report(trials("", {"a": [1, 1, 1, 0], "b": [1, 1, 1, 1], "c": [1, 0, 0, 0]}))
    assert clean.pass_hat == pytest.approx((2 / 3, 0.5, (0.25 + 1) / 3, 1 / 3))
    assert clean.pass_hat[0] == pytest.approx(clean.reward)
    assert (clean.drop, clean.stable) == (None, None)


@pytest.mark.parametrize(("clean", "noisy", "drop"), [(0.6, 0.45, 0.25), (0.5, 0.4, 0.2)])
def test_a_drop_is_a_share_of_the_clean_reward(clean: float, noisy: float, drop: float) -> None:
    _, error = report([*trials("", {"a": [clean]}), *trials("error", {"a": [noisy]})])
    assert error.noise == "error"
    assert error.drop == pytest.approx(drop)
    assert error.drop_of_tasks == pytest.approx(drop)


def test_tasks_that_fail_without_noise_are_counted_and_cannot_drop() -> None:
    _, error = report([*trials("", {"a": [1.0], "b": [0.0]}), *trials("error", {"a": [0.5], "b": [0.0], "c": [1.0]})])
    assert (error.tasks, error.undefined, error.drop_of_tasks, error.drop) == (3, 1, 0.5, 0.5)


def test_a_type_without_clean_twins_has_no_drop() -> None:
    [error] = report(trials("error", {"a": [1.0]}))
    assert (error.drop, error.drop_of_tasks, error.stable) == (None, None, None)
    assert (error.undefined, error.injections) == (0, 1)


def test_stability_is_the_share_of_trials_that_call_the_tools_of_the_clean_medoid() -> None:
    clean = [*trials("", {"a": [1, 1]}, ("read", "read", "read", "act")), *trials("", {"a": [1]}, ("act",))]
    noisy = [*trials("error", {"a": [1]}, ("read", "read", "read", "read", "act")),
             *trials("error", {"a": [0]}, ("read", "ask"))]
    _, error = report([*clean, *noisy])
    assert error.stable == 0.5
    assert [similarity("abc", "abc"), similarity("", ""), similarity("abcd", "abxd"), similarity("a", "")] == [
        1, 1, 0.75, 0]
