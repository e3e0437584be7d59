"""The likeliest ids of scores, compared with the trainer's forward. Both engines pass these tests."""

from functools import cache
from typing import Any

import grpc
import numpy as np
import pytest
from numpy.typing import NDArray

from hone.api import inference_pb2 as pb
from hone.models import probe, toy
from hone.models.checkpoint import Checkpoint
from hone.models.policy import Policy
from tests.integration.inference.models import Model
from tests.servers.service import refused_field

CONTEXT, IDS, TEMPERATURE, VOCABULARY = [23, 9, 6, 13], [4, 5, 30, 7, 1, 19], 0.2, 32
NEAR = 2e-5


@cache
def expected() -> NDArray[np.float64]:
    """Return all log-probs [ids, vocabulary] at the position of each id, by the trainer's forward."""
    made = Checkpoint.from_files(toy.files(0, hidden=64, ffn=96, heads=2))
    rows = [[*CONTEXT, *IDS[:place], id] for place in range(len(IDS)) for id in range(VOCABULARY)]
    logp = probe.logp(Policy(made.architecture, made.tensors), rows, TEMPERATURE)
    return np.array([row[-1] for row in logp]).reshape(len(IDS), VOCABULARY)


def scored(engine: Any, model: Model, top_k: int, *ids: list[int]) -> list[pb.ScoredItem]:
    """Return the scores of ids after the context."""
    items = [pb.ScoreItem(context_ids=CONTEXT, ids=one) for one in ids]
    request = pb.ScoreRequest(model_id=model.id, items=items, temperature=TEMPERATURE, top_k=top_k)
    return list(engine.Score(request, timeout=60).items)


def test_without_top_k_no_ids_are_returned(engine: Any, model: Model) -> None:
    model.publish(0)
    (found,) = scored(engine, model, 0, IDS)
    assert list(found.logp) == pytest.approx(expected()[range(len(IDS)), IDS], abs=NEAR)
    assert (list(found.top_ids), list(found.top_logp)) == ([], [])


@pytest.mark.parametrize("top_k", [1, 5, VOCABULARY])
def test_the_likeliest_ids_of_each_position_are_returned_with_their_log_probs(
    engine: Any, model: Model, top_k: int
) -> None:
    model.publish(0)
    empty, *whole = scored(engine, model, top_k, [], *[IDS] * 20)
    assert (list(empty.logp), list(empty.top_ids), list(empty.top_logp)) == ([], [], [])
    wanted = expected()
    order = np.argsort(-wanted, axis=1, kind="stable")
    best = np.take_along_axis(wanted, order, axis=1)
    clear = np.diff(best, axis=1, prepend=np.inf, append=-np.inf) < -5 * NEAR
    sure = (clear[:, :-1] & clear[:, 1:])[:, :top_k]
    assert sure.mean() > 0.9
    for found in whole:
        ids = np.array(found.top_ids).reshape(len(IDS), top_k)
        logp = np.array(found.top_logp).reshape(len(IDS), top_k)
        assert np.array_equal(ids[sure], order[:, :top_k][sure])
        assert np.abs(logp - best[:, :top_k]).max() < NEAR
        assert np.abs(logp - np.take_along_axis(wanted, ids, axis=1)).max() < NEAR


@pytest.mark.parametrize("top_k", [-1, VOCABULARY + 1, 65])
def test_a_wrong_top_k_is_refused_by_name(engine: Any, model: Model, top_k: int) -> None:
    model.publish(0)
    with pytest.raises(grpc.RpcError) as refused:
        scored(engine, model, top_k, IDS)
    named, text = refused_field(refused.value)
    assert named == "top_k"
    assert f"found {top_k}, expected" in text


def test_texts_as_long_as_the_cache_are_scored(engine: Any, model: Model) -> None:
    model.publish(0)
    ids = [3 + place % 20 for place in range(1024)]
    longest = pb.ScoreItem(context_ids=ids[:4], ids=ids[4:])
    shorter = pb.ScoreItem(context_ids=ids[:4], ids=ids[4:-1])
    long, short = engine.Score(pb.ScoreRequest(model_id=model.id, items=[longest, shorter]), timeout=60).items
    assert list(long.logp)[:-1] == pytest.approx(list(short.logp), abs=2e-5)
    assert len(long.logp) == 1020
    with pytest.raises(grpc.RpcError) as refused:
        engine.Score(pb.ScoreRequest(model_id=model.id, items=[
            pb.ScoreItem(context_ids=ids[:5], ids=ids[4:])]), timeout=60)
    assert refused_field(refused.value)[0] == "items[0].ids"
