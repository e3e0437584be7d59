"""Drawing by inverse CDF: the right distribution, the right cut, and log-probs of the distribution drawn from."""

import math

import numpy as np
import pytest
import torch

from services.inference import noise
from services.inference.native import kernels
from services.inference.native.sampler import DrawSettings, sample

LOGITS = torch.tensor([2.0, 1.0, 0.5, 0.5, -1.0, -torch.inf])


def settings(rows: int, temperature: float = 1.0, top_p: float = 1.0, top_k: int = 0) -> DrawSettings:
    return DrawSettings(np.full(rows, temperature, np.float32), np.full(rows, top_p, np.float32), np.full(rows, top_k))


def draw(logits: torch.Tensor, uniforms: np.ndarray, settings: DrawSettings) -> tuple[torch.Tensor, torch.Tensor]:
    ids, logp = sample(logits, np.arange(len(logits)), uniforms.astype(np.float32), settings)
    return torch.from_numpy(ids), torch.from_numpy(logp)


def expected(temperature: float, top_p: float, top_k: int) -> list[float]:
    """Return the distribution by its definition, in plain Python."""
    weights = [math.exp(value / temperature) for value in LOGITS.tolist()]
    ranked = sorted(range(len(weights)), key=lambda id: (-weights[id], id))[:top_k or None]
    total, mass, kept = sum(weights[id] for id in ranked), 0.0, []
    for id in ranked:
        if mass < top_p * total:
            kept.append(id)
        mass += weights[id]
    return [weights[id] / sum(weights[one] for one in kept) if id in kept else 0.0 for id in range(len(weights))]


@pytest.mark.parametrize(("temperature", "top_p", "top_k"), [
    (1.0, 1.0, 0), (0.5, 1.0, 0), (1.0, 1.0, 3), (1.0, 0.8, 0), (2.0, 0.6, 4), (1.0, 1e-6, 0), (0.7, 1.0, 1),
    (1.0, 1.0, 50),
])
def test_distribution_and_logp(temperature: float, top_p: float, top_k: int) -> None:
    rows = 4096
    grid = (np.arange(rows) + 0.5) / rows
    ids, logp = draw(LOGITS.repeat(rows, 1), grid, settings(rows, temperature, top_p, top_k))
    wanted = expected(temperature, top_p, top_k)
    found = torch.bincount(ids, minlength=6) / rows
    assert (found - torch.tensor(wanted)).abs().max() <= 1.5 / rows
    assert torch.allclose(logp, torch.tensor(wanted).log()[ids], atol=1e-5)


def test_greedy_takes_the_likeliest_and_reports_the_plain_softmax() -> None:
    ids, logp = draw(LOGITS.repeat(2, 1), np.array([0.1, 0.9]), settings(2, 0.0, 0.5, 1))
    assert ids.tolist() == [0, 0]
    assert torch.allclose(logp, torch.log_softmax(LOGITS, -1)[0].expand(2))


@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0 ** -24])
def test_extreme_noise_never_draws_the_impossible(uniform: float) -> None:
    logits = torch.randn(64, 1000)
    logits[:, 500:] = -torch.inf
    logits[:, 0] = -torch.inf
    ids, logp = draw(logits, np.full(64, uniform), settings(64))
    assert 1 <= int(ids.min()) <= int(ids.max()) < 500
    assert bool(logp.isfinite().all())


@pytest.mark.parametrize("vocabulary", [16, 300, 5000])
def test_samples_of_one_row_and_of_many_blocks_follow_the_distribution(vocabulary: int) -> None:
    torch.manual_seed(0)
    logits, grid = torch.randn(2, vocabulary) * 3, ((np.arange(20000) + 0.5) / 20000).astype(np.float32)
    ids, logp = sample(logits, np.ones(20000, np.int64), grid, DrawSettings.plain(20000))
    wanted = torch.softmax(logits[1].double(), -1)
    found = torch.bincount(torch.from_numpy(ids), minlength=vocabulary) / 20000
    assert (found - wanted).abs().max() <= 1.5 / 20000
    assert torch.allclose(torch.from_numpy(logp).double(), wanted.log()[ids], atol=1e-5)


@pytest.mark.parametrize(("top_p", "top_k"), [(0.9, 0), (0.5, 0), (0.999, 0), (1.0, 40), (0.8, 40), (0.3, 5000)])
def test_a_large_vocabulary_is_cut_as_if_all_of_it_were_sorted(top_p: float, top_k: int) -> None:
    torch.manual_seed(0)
    shares = torch.softmax(torch.randn(3, 3000).mul(2).round(decimals=1), -1)  # many are equal
    found = shares.clone()
    kernels.cut(found.numpy(), np.full(3, top_p, np.float32), np.full(3, top_k))
    ordered, ids = shares.double().sort(dim=-1, stable=True, descending=True)
    ordered[:, top_k or 3000:] = 0
    ordered[ordered.cumsum(-1) - ordered >= top_p * ordered.sum(-1, keepdim=True)] = 0
    wanted = torch.zeros_like(ordered).scatter_(1, ids, ordered / ordered.sum(-1, keepdim=True))
    assert (found > 0).sum(1).tolist() == (wanted > 0).sum(1).tolist()
    torch.testing.assert_close(found.double(), wanted, atol=1e-7, rtol=1e-5)


def test_cut_greedy_and_plain_samples_are_drawn_together() -> None:
    temperature, top_p = np.array([[1, 0, 1, 0.5], [1, 1, 1e-6, 1]], np.float32)
    mixed = DrawSettings(temperature, top_p, top_k=np.array([0, 0, 0, 2]))
    ids, logp = sample(LOGITS[None], np.zeros(4, np.int64), np.full(4, 0.9, np.float32), mixed)
    assert ids.tolist() == [3, 0, 0, 1]
    assert logp[[1, 2]].tolist() == pytest.approx([float(torch.log_softmax(LOGITS, -1)[0]), 0.0], abs=1e-6)


def test_noise_is_a_function_of_its_key_alone() -> None:
    samples = np.arange(1000)
    keys = noise.keys(7, "train/3", 0, samples)
    assert np.array_equal(keys[[5, 2]], noise.keys(7, "train/3", 0, samples[[5, 2]]))
    others = [noise.keys(*key, samples) for key in ((8, "train/3", 0), (7, "train/4", 0), (7, "train/3", 1))]
    assert len(set(keys.tolist()).union(*(other.tolist() for other in others))) == 4000


def test_noise_is_uniform_over_samples_and_positions() -> None:
    keys = noise.keys(0, "train/0", 0, np.arange(200))
    drawn = np.stack([noise.uniforms(keys, np.full(200, position)) for position in range(200)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    counts = np.bincount((drawn * 16).astype(int).ravel(), minlength=16)
    assert ((counts - 2500) ** 2 / 2500).sum() < 37.7  # chi-square with 15 degrees of freedom, p = 0.001
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1]) < 0.02


UNUSED = np.array([1, 4, 7])


def padded(shift: float) -> torch.Tensor:
    """Return a row of logits in which the ids that no token has are likely: their logits are `shift` higher."""
    row = torch.tensor([2.0, 1.0, 0.5, 0.4, -1.0, 0.0, -2.0, 1.5])
    row[torch.from_numpy(UNUSED)] += shift
    return row


@pytest.mark.parametrize("shift", [0.0, 3.0, 300.0])
@pytest.mark.parametrize(("temperature", "top_p", "top_k"), [
    (1.0, 1.0, 0), (0.5, 1.0, 0), (0.0, 1.0, 0), (1.0, 1.0, 2), (2.0, 0.6, 4), (1.0, 0.8, 0)])
def test_ids_that_no_token_has_are_never_drawn(
    shift: float, temperature: float, top_p: float, top_k: int
) -> None:
    row, rows = padded(shift), 20000
    keys = noise.keys(0, "padded", 0, np.arange(rows))
    places, uniforms = np.zeros(rows, np.int64), noise.uniforms(keys, np.zeros(rows, np.int64))
    ids, logp = sample(row[None].clone(), places, uniforms, settings(rows, temperature, top_p, top_k), UNUSED)
    assert not np.isin(ids, UNUSED).any()
    used = row.clone()
    used[torch.from_numpy(UNUSED)] = -torch.inf
    wanted, _ = sample(used[None], places, uniforms, settings(rows, temperature, top_p, top_k))
    shares = [np.bincount(found, minlength=len(row)) / rows for found in (ids, wanted)]
    assert np.abs(shares[0] - shares[1]).max() < 0.015
    if top_p == 1 and not top_k:  # the trainer's log-prob, so that the ratio of an unchanged policy is 1
        trainer = torch.log_softmax(row / (temperature or 1.0), -1)
        assert np.abs(logp - trainer.numpy()[ids]).max() < 1e-5 + 1e-6 * shift


def test_log_probs_of_a_cut_are_those_of_the_distribution_drawn_from() -> None:
    row, rows = padded(2.0), 100
    uniforms = ((np.arange(rows) + 0.5) / rows).astype(np.float32)
    ids, logp = sample(row[None].clone(), np.zeros(rows, np.int64), uniforms, settings(rows, 1.0, 1.0, 2), UNUSED)
    assert set(ids.tolist()) == {0, 2}
    wanted = torch.log_softmax(row[[0, 2]], -1)
    assert logp == pytest.approx(np.where(ids == 0, *wanted.tolist()), abs=1e-5)


def test_other_draws_keep_their_bits_beside_ids_that_no_token_has() -> None:
    torch.manual_seed(0)
    logits, uniforms = torch.randn(500, 64), torch.rand(500).numpy()
    plain = sample(logits, np.arange(500), uniforms, settings(500))
    found = sample(logits, np.arange(500), uniforms, settings(500), np.arange(60, 64))
    same = plain[0] < 60
    assert 0 < same.sum() < 500
    assert np.array_equal(plain[0][same], found[0][same])
    assert np.array_equal(plain[1][same], found[1][same])
