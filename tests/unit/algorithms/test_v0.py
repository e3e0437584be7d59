"""V0: the worked numbers and the exact properties of its spec."""

import math
from pathlib import Path

import numpy as np
import pytest

from hone.algorithms.value import adapter, hashed, losses, metrics
from hone.algorithms.value.denoising import clustered
from hone.algorithms.value.episodes import Key, class_weights, epoch, pairs
from hone.algorithms.value.evaluation import evaluate
from hone.algorithms.value.heads import RidgeWeights, knn, missing, ridge, widened
from hone.algorithms.value.model import NoValueModel, ValueModel, load, save
from hone.algorithms.value.predicting import labels, predict, sigmoid
from hone.text.encoded import Encoded
from hone.text.erf import erf

SCORES, LABELS = np.array([0.8, -1.2, 0.1, -1.0]), np.array([0.9, 0.3, 0.6, 0.0])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_worked_example_1() -> None:
    assert losses.pairwise(SCORES) == pytest.approx(0.207132, abs=1e-6)
    items = [losses.soft_cross_entropy(SCORES[place:place + 1], LABELS[place:place + 1]) for place in range(4)]
    assert items == pytest.approx([0.451101, 0.623282, 0.684397, 0.313262], abs=1e-6)
    assert losses.soft_cross_entropy(SCORES, LABELS) == pytest.approx(0.518010, abs=1e-6)
    assert losses.combined(SCORES, LABELS) == pytest.approx(0.440291, abs=1e-6)
    moved = [losses.combined(SCORES + step, LABELS) for step in 1e-6 * np.eye(4)]
    gradient = (np.array(moved) - losses.combined(SCORES, LABELS)) / 1e-6
    assert gradient == pytest.approx([-0.054280, 0.002052, -0.045284, 0.081644], abs=1e-5)


def test_a_constant_on_all_scores_moves_cross_entropy_alone_and_pairs_need_two() -> None:
    assert losses.pairwise(SCORES + 3.0) == pytest.approx(losses.pairwise(SCORES), abs=1e-12)
    assert losses.soft_cross_entropy(SCORES + 3.0, LABELS) > losses.soft_cross_entropy(SCORES, LABELS) + 0.5
    weighted = losses.soft_cross_entropy(SCORES, LABELS, weights=np.array([2.0, 0.0, 0.0, 0.0]))
    assert weighted == pytest.approx(2 * 0.451101 / 4, abs=1e-6)
    with pytest.raises(ValueError, match="scores: found 3, expected pairs"):
        losses.combined(SCORES[:3], LABELS[:3])


def test_queries_begin_static_and_ignore_padding() -> None:
    weights = adapter.initial_queries(32, rng())
    vectors, states = rng(1).normal(size=(5, 32)), rng(2).normal(size=(5, 7, 32))
    real = np.arange(7) < np.array([7, 3, 1, 5, 7])[:, None]
    found = adapter.queries(weights, vectors, states, real)
    assert found.shape == (5, 168 * 6)
    assert found == pytest.approx(adapter.queries(weights, -vectors, states, real)), "the offset starts at zero"
    states[~real] = 1e6
    assert adapter.queries(weights, vectors, states, real) == pytest.approx(found, abs=1e-12)
    places = [-1.5, 0.0, 0.3, 4.0]
    assert erf(np.array(places)) == pytest.approx(list(map(math.erf, places)), abs=2e-7)


def test_ridge_is_the_spec_s_in_any_order_and_without_a_penalty_twice_is_once() -> None:
    context, queries = rng().normal(size=(40, 60)), rng(1).normal(size=(9, 60))
    hard = (rng(2).random(40) < 0.4).astype(float)
    rows, asked = (np.hstack([one, np.ones((len(one), 1))]) for one in (context, queries))
    weights = np.linalg.solve(rows.T @ rows + 0.7 * np.eye(61), rows.T @ (2 * hard - 1))
    found = ridge(context, hard, queries, RidgeWeights(0.7, 2.5))
    assert found == pytest.approx(2.5 * asked @ weights, abs=1e-9)
    order = rng(3).permutation(40)
    assert ridge(context[order], hard[order], queries, RidgeWeights(0.7, 2.5)) == pytest.approx(found, abs=1e-6)
    free = RidgeWeights(0.0, 1.0)
    twice = ridge(np.vstack([context, context]), np.tile(hard, 2), queries, free)
    assert twice == pytest.approx(ridge(context, hard, queries, free), abs=1e-9)


def test_knn_counts_the_nearest_and_of_equals_the_earlier() -> None:
    context = np.vstack([np.tile([1.0, 0.0], (20, 1)), np.tile([0.0, 3.0], (4, 1))])
    hard = np.array([1.0] * 12 + [0.0] * 8 + [0.0] * 4)
    found = knn(context, hard, np.array([[2.0, 0.0], [0.0, 1.0]]), RidgeWeights())
    assert sigmoid(found) == pytest.approx([13 / 18, 13 / 18])  # 12 of the first 16; 4 failures and the first 12
    assert sigmoid(knn(context[:3], hard[:3], context[:1], RidgeWeights())) == pytest.approx([4 / 5])
    assert missing("ridge") is None
    assert missing("tabpfn") is None or "not installed" in str(missing("tabpfn"))
    assert missing("net") == "found 'net', expected one of ridge, knn, tabpfn"


def test_what_prompts_share_hides_no_difference_and_a_few_samples_raise_no_prediction() -> None:
    levels = np.repeat(np.arange(4), 60)
    chances = np.array([0.95, 0.7, 0.4, 0.1])[levels]
    words = ["".join(rng(place).choice(list("aeinorst"), 3 + 2 * level)) for place, level in enumerate(levels.tolist())]
    texts = [f"Spell this word backward (example: sun -> nus): {word}" for word in words]
    vectors, order = hashed.embed(texts), rng(1).permutation(240)
    known, asked = order[:180], order[180:]
    outcomes = rng(2).binomial(4, chances) / 4
    ridged, near = (predict(vectors[known], outcomes[known], vectors[asked], head, RidgeWeights()).p
                    for head in ("ridge", "knn"))
    assert metrics.auc(outcomes[asked], ridged) > 0.88  # as they are: 0.83
    assert metrics.auc(outcomes[asked], near) > 0.8  # as they are: 0.51
    assert ridged.mean() == pytest.approx(outcomes[known].mean(), abs=0.05)  # by successes alone: 0.15 above
    same, other = widened(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[2.0, 6.0]]))
    assert same == pytest.approx(np.array([[1, 5, -1 / 2**0.5, 0], [3, 5, 1 / 2**0.5, 0]]))
    assert other == pytest.approx(np.array([[2, 6, 0, 0]]))


def test_what_cannot_be_fitted_is_unreliable() -> None:
    queries, context = np.eye(3), np.tile(np.eye(3), (20, 1))
    empty = predict(np.zeros((0, 0)), np.zeros(0), queries, "ridge", RidgeWeights())
    assert (list(empty.p), empty.unreliable) == ([0.5] * 3, "the policy has no outcomes yet")
    one_class = predict(context[:4], np.array([1.0, 0.7, 0.5, math.nan]), queries, "ridge", RidgeWeights())
    assert one_class.p == pytest.approx([4 / 5] * 3)
    assert one_class.unreliable == "all 3 outcomes of the policy succeed"
    mixed = np.tile([1.0, 0.0, 0.4], 20)
    assert predict(context, mixed, queries, "ridge", RidgeWeights()).unreliable == ""
    few = predict(context[:49], mixed[:49], queries, "knn", RidgeWeights())
    assert few.unreliable == "49 prompts with an outcome, expected at least 50"
    assert labels(np.array([-3.0, 0.0, 2.0, 9.0]), -1.0, 3.0) == pytest.approx([0.0, 0.25, 0.75, 1.0])
    for bounds in ((1.0, 1.0), (0.0, math.nan)):
        with pytest.raises(ValueError, match="expected a finite lowest score below the highest"):
            labels(np.zeros(1), *bounds)


def test_pairs_cycle_the_rarer_class_and_episodes_keep_queries_out_of_their_context() -> None:
    outcomes = np.array([0.9, 0.1, 0.2, 0.5, 0.0, 0.3, 0.4])
    found = pairs(outcomes, rng())
    assert sorted(found[1::2]) == [1, 2, 4, 5, 6]
    assert set(found[0::2]) == {0, 3}
    assert list(found[0::2]) == [*found[0:4:2]] * 2 + [found[0]], "in one shuffled order, cycled"
    assert len(pairs(np.ones(4), rng())) == 0
    assert class_weights(outcomes)[:2] == pytest.approx([7 / 4, 7 / 10])
    keys = [Key("a", "x", np.arange(7), outcomes), Key("b", "x", np.arange(7), np.ones(7)),
            Key("c", "x", np.array([0, 1]), np.array([1.0, 0.0])),
            Key("c", "y", np.array([2, 3, 4]), np.array([1.0, 0.0, 1.0]))]
    made = list(epoch(keys, rng(), size=4, chunk=4))
    assert sum(len(one.queries) for one in made) <= 10 + 2 + 4
    assert {len(one.queries) for one in made} == {4, 2}
    for one in made:
        assert not set(one.queries) & set(one.context)
        assert len(one.context) <= 4
        assert (one.outcomes[0::2] >= 0.5).all()
        assert (one.outcomes[1::2] < 0.5).all()
    widened = [one for one in made if set(one.queries) == {0, 1} and len(one.queries) == 2 and len(one.context) == 3]
    assert [sorted(one.context) for one in widened] == [[2, 3, 4]], "a key of two rows has the policy's other rows"


def test_auc_counts_ties_by_half_and_is_averaged_by_rows() -> None:
    outcomes, scores = np.array([1.0, 0.5, 0.0, 0.2]), np.array([0.9, 0.3, 0.3, 0.1])
    assert metrics.auc(outcomes, scores) == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert math.isnan(metrics.auc(np.ones(3), np.ones(3)))
    keys = [(outcomes, scores), (np.array([1.0, 0.0]), np.array([0.0, 1.0])), (np.ones(5), np.ones(5))]
    assert metrics.intra_context_auc(keys) == pytest.approx((4 * 0.875 + 2 * 0.0) / 6)
    assert math.isnan(metrics.intra_context_auc([]))
    p = np.array([0.05, 0.08, 0.95, 1.0])
    assert metrics.calibration_error(np.array([0.0, 1.0, 1.0, 0.5]), p) == pytest.approx((0.87 + 0.45) / 4)


def test_a_denoised_context_has_a_real_row_for_each_cluster_with_its_mean_outcome() -> None:
    centres = 10.0 * np.eye(4)
    context = np.concatenate([centre + 0.1 * rng(place).normal(size=(5, 4)) for place, centre in enumerate(centres)])
    outcomes = np.array([0.0, 1, 1, 1, 1] * 2 + [0.0] * 10)
    rows, means = clustered(context, outcomes, 4)
    assert sorted(means) == [0, 0, 0.8, 0.8]
    assert all((context == row).all(1).any() for row in rows)
    assert {int(np.argmax(row)) for row in rows} == {0, 1, 2, 3}
    assert clustered(context, outcomes, 20)[0] is context
    assert len(clustered(np.zeros((9, 2)), np.arange(9.0), 4)[0]) == 1, "equal rows are one cluster"
    noisy = predict(context, outcomes, centres, "knn", RidgeWeights(), clusters=4)
    assert (noisy.p[:2] == noisy.p[0]).all()
    assert predict(context, outcomes, centres, "ridge", RidgeWeights(), clusters=4).p[0] > 0.5


def test_flips_of_a_prompt_between_checkpoints_are_ranked() -> None:
    flips = [(np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.4, 0.7])), (np.ones(3), np.zeros(3)),
             (np.array([1.0, 0.0]), np.array([0.5, 0.5]))]
    assert metrics.flip_ranking(flips) == pytest.approx((1 + 0 + 0.5) / 3)
    assert math.isnan(metrics.flip_ranking(flips[1:2]))
    keys = [Key(f"run/{step}", "", np.arange(80), (np.arange(80) % 2 == step % 2).astype(float)) for step in range(4)]
    keys += [Key("other/1", "", np.arange(80), np.ones(80))]
    figures = evaluate(keys, lambda context, outcomes, queries: (
        queries % 2 == context[np.argmax(outcomes)] % 2).astype(float) * 0.8 + 0.1)
    assert (figures.flip_ranking, figures.keys) == (1.0, 5)
    alone = evaluate(keys[:1], lambda _, outcomes, queries: np.full(len(queries), outcomes.mean()))
    assert "flip_ranking" not in alone.rounded()


def test_hashed_vectors_have_length_one_and_like_texts_are_near() -> None:
    found = hashed.embed(["sort 4 8 1 =", "sort 9 3 2 =", "Write a poem about \ud800 rain", ""])
    assert np.linalg.norm(found, axis=1) == pytest.approx([1.0] * 4)
    assert found[0] @ found[1] > found[0] @ found[2]
    assert hashed.embed(["sort 4 8 1 ="])[0].tobytes() == found[0].tobytes()
    assert hashed.embed([]).shape == (0, hashed.WIDTH)


def test_a_model_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "v0.safetensors"
    encoded = Encoded(rng().normal(size=(3, 32)), rng(1).normal(size=(3, 4, 32)), np.ones((3, 4), bool))
    made = ValueModel("e", "queries", adapter.initial_queries(32, rng()), RidgeWeights(2.0, 3.0), {"made_by": "me"})
    save(made, path)
    found = load(path)
    assert (found.embedder, found.kind, found.facts["made_by"]) == ("e", "queries", "me")
    assert found.version == made.version
    assert (found.ridge.lam, found.ridge.tau) == pytest.approx((2.0, 3.0))
    assert found.features(encoded) == pytest.approx(made.features(encoded))
    with pytest.raises(NoValueModel, match="found vectors alone"):
        found.features(Encoded(encoded.vectors))
    save(ValueModel("e", "mlp", {"down.weight": np.full((1, 1), np.nan, np.float32)}), path)
    with pytest.raises(NoValueModel, match="no numbers"):
        load(path)
