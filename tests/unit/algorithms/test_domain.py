"""Every method of every slot returns finite numbers for all inputs of its domain. New methods are tested by name."""

import json
import math

import numpy as np
import pytest
import torch

from hone.algorithms.catalogue import (
    ADVANTAGES,
    AGGREGATIONS,
    CORRECTIONS,
    FILTERS,
    LOSSES,
    MODULATIONS,
    REGULARIZERS,
    REWARDS,
)
from hone.algorithms.method import State
from tests.unit.algorithms import domain

DRAWS = 25


def cases(methods):
    """One case for each method and each variant of its parameters."""
    return [pytest.param(method, params, name, id=f"{name} {params}") for name, method in methods.items()
            for params in domain.variants(method.params)]


def draws():
    return (np.random.default_rng(seed) for seed in range(DRAWS))


def slope(values, leaf):
    """Return the gradient of the values' sum; 0 where they do not depend on the leaf."""
    if not values.requires_grad:
        return torch.zeros(1)
    found, = torch.autograd.grad(values.sum(), leaf, retain_graph=True, allow_unused=True)
    return torch.zeros(1) if found is None else found


def assert_figures(metrics):
    assert all(isinstance(value, float) and math.isfinite(value) for value in metrics.values()), metrics


@pytest.mark.parametrize(("method", "params", "name"), cases(ADVANTAGES))
def test_advantages_are_finite_and_one_for_each_token(method, params, name):
    state: State = {}
    for random in draws():
        given = domain.advantages(random, name)
        found, state, metrics = method(given, params, json.loads(json.dumps(state)))
        tracks = [track.advantage for track in found] if isinstance(found, list) else [found]
        for advantage in tracks:
            assert advantage.shape == (given.tokens.sum(),)
            assert np.isfinite(advantage).all()
        assert_figures(metrics)


@pytest.mark.parametrize(("method", "params", "name"), cases(MODULATIONS))
def test_modulated_advantages_are_finite(method, params, name):
    for random in draws():
        given = domain.modulations(random)
        found, _, metrics = method(given, params, {})
        assert found.shape == given.advantage.shape
        assert np.isfinite(found).all(), name
        assert_figures(metrics)


@pytest.mark.parametrize(("method", "params", "name"), cases(LOSSES))
def test_losses_and_their_gradients_are_finite(method, params, name):
    for random in draws():
        given = domain.losses(random)
        found, _, metrics = method(given, params, {})
        assert found.shape == given.logp.shape
        assert found.isfinite().all(), name
        assert slope(found, given.logp).isfinite().all()
        assert given.support is None or slope(found, given.support.student).isfinite().all()
        assert_figures(metrics)


@pytest.mark.parametrize(("method", "params", "name"), cases(CORRECTIONS))
def test_weights_of_samples_are_finite_and_not_negative(method, params, name):
    for random in draws():
        given = domain.corrections(random)
        found, _, metrics = method(given, params, {})
        assert found.shape == given.logp_old.shape
        assert found.isfinite().all(), name
        assert (found >= 0).all()
        assert_figures(metrics)


@pytest.mark.parametrize(("method", "params", "name"), cases(REGULARIZERS))
def test_regularizers_and_their_gradients_are_finite(method, params, name):
    for random in draws():
        given = domain.regularizers(random)
        found, _, metrics = method(given, params, {})
        assert found.shape == given.logp.shape
        assert found.isfinite().all(), name
        assert slope(found, given.logp).isfinite().all()
        assert given.entropy is None or slope(found, given.entropy).isfinite().all()
        assert given.support is None or slope(found, given.support.student).isfinite().all()
        assert_figures(metrics)


@pytest.mark.parametrize(("method", "params", "name"), cases(AGGREGATIONS))
def test_weights_of_tokens_are_finite_and_not_negative(method, params, name):
    for random in draws():
        given = domain.aggregations(random)
        found, _, metrics = method(given, params, {})
        assert found.shape == given.tokens.shape
        assert np.isfinite(found).all(), name
        assert (found >= 0).all()
        assert_figures(metrics)


@pytest.mark.parametrize(("method", "params", "name"), cases(REWARDS))
def test_rewards_are_finite_or_missing(method, params, name):
    for random in draws():
        given = domain.samples(random)
        found, _, metrics = method(given, params, {})
        assert len(found) == len(given.rewards)
        assert all(reward is None or math.isfinite(reward) for reward in found), name
        assert_figures(metrics)


@pytest.mark.parametrize(("method", "params", "name"), cases(FILTERS))
def test_filters_decide_on_every_group(method, params, name):
    for random in draws():
        given = domain.groups(random)
        found, state, metrics = method(given, params, {})
        assert [type(kept) for kept in found] == [bool] * len(given.rewards), name
        assert json.loads(json.dumps(state)) == state
        assert_figures(metrics)
