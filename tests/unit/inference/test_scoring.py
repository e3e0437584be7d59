"""The likeliest ids at each position: of plain log-probs, and of the native engine's scores; and refused items."""

import numpy as np
import pytest
import torch

from hone.api import inference_pb2 as pb
from hone.rpc.errors import InvalidField
from services.inference import scoring
from services.inference.scoring import ScoreItem, likeliest
from tests.support.inference.generation import reference
from tests.unit.inference.engines import VOCABULARY, engine, stock

ITEMS = [ScoreItem((5, 9, 11), tuple(range(3, 20))), ScoreItem(tuple(range(2, 40)) * 2, (7, 8, 9)),
         ScoreItem((4,), (6,) * 70),
         ScoreItem((5, 9), ())]


@pytest.mark.parametrize("top_k", [0, 1, 3, 200])
def test_likeliest_ids_come_first_and_of_equal_ones_the_lower(top_k: int) -> None:
    random = np.random.default_rng(3)
    # Whole numbers, so that many are tied; with impossible ids and a certain one.
    logp = -random.integers(0, 30, (50, 200)).astype(np.float32)
    logp[random.random(logp.shape) < 0.1] = -np.inf
    logp[7, 11] = 0.0
    ids, reported = (found.numpy() for found in likeliest(torch.from_numpy(logp), top_k))
    wanted = np.argsort(-logp, axis=1, kind="stable")[:, :top_k]
    assert np.array_equal(ids, wanted)
    assert reported.dtype == np.float32
    assert np.array_equal(reported, np.take_along_axis(logp, wanted, axis=1))


@pytest.mark.parametrize("top_k", [1, 5, VOCABULARY])
def test_likeliest_ids_of_scores_are_those_of_stock_transformers(top_k: int) -> None:
    for item, scored in zip(ITEMS, engine("llama").score(ITEMS, 0.7, top_k), strict=True):
        assert len(scored.top_ids) == len(scored.top_logp) == len(item.ids) * top_k
        if not item.ids:
            continue
        logp = torch.log_softmax(reference(stock("llama"), list(item.context_ids), list(item.ids)) / 0.7, -1)
        wanted, best = logp.sort(dim=-1, descending=True)
        ids = torch.tensor(scored.top_ids).view(-1, top_k)
        reported = torch.tensor(scored.top_logp).view(-1, top_k)
        assert (reported - logp.gather(1, ids)).abs().max() < 2e-5
        assert (reported - wanted[:, :top_k]).abs().max() < 2e-5
        gaps = -wanted.diff(dim=-1, append=torch.full((len(wanted), 1), -torch.inf))
        clear = torch.minimum(gaps, gaps.roll(1, -1)) > 1e-4
        assert clear[:, :top_k].float().mean() > 0.9
        assert torch.equal(ids[clear[:, :top_k]], best[:, :top_k][clear[:, :top_k]])


def test_log_probs_and_entropies_do_not_depend_on_top_k() -> None:
    served = engine("llama")
    for one, other in zip(served.score(ITEMS, 0.7), served.score(ITEMS, 0.7, 4), strict=True):
        assert (one.logp, one.entropy) == (other.logp, other.entropy)
        assert (one.top_ids, one.top_logp) == ([], [])


def test_the_likeliest_of_all_ids_are_the_distribution() -> None:
    (scored,) = engine().score([ScoreItem((5, 9, 11), (7, 8))], 1.0, VOCABULARY)
    ids = np.array(scored.top_ids).reshape(2, VOCABULARY)
    reported = np.array(scored.top_logp).reshape(2, VOCABULARY)
    assert np.array_equal(np.sort(ids, axis=1), np.tile(np.arange(VOCABULARY), (2, 1)))
    assert np.exp(reported).sum(axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert -(np.exp(reported) * reported).sum(axis=1) == pytest.approx(scored.entropy, abs=1e-5)
    assert reported[ids == [[7], [8]]].tolist() == scored.logp


@pytest.mark.parametrize("top_k", [-1, 65])
def test_a_top_k_out_of_range_is_refused(top_k: int) -> None:
    request = pb.ScoreRequest(model_id="m", top_k=top_k)
    with pytest.raises(InvalidField, match=f"top_k: found {top_k}, expected 0 to 64"):
        scoring.read_items(request, 100)
    assert scoring.read_items(pb.ScoreRequest(model_id="m", top_k=64), 100) == []


def test_a_top_k_beyond_the_vocabulary_is_refused() -> None:
    scoring.check_top_k(41, 41)
    with pytest.raises(InvalidField, match="top_k: found 42, expected at most 41: the vocabulary"):
        scoring.check_top_k(42, 41)
