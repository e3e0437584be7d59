"""A value model is trained for real: unseen policies and prompts of the synthetic world of V0's spec."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.value_model import world
from hone.algorithms.value import adapter
from hone.algorithms.value.episodes import Key
from hone.algorithms.value.evaluation import by_model
from hone.algorithms.value.model import load
from hone.models import value_fit
from hone.models.value_training import Training, train
from hone.text import sentence_encoder
from hone.text.encoded import Encoded
from hone.text.sentence_encoder import SentenceEncoder


def test_an_unseen_policy_is_known_by_its_context() -> None:
    found = world.world(0)
    keys = world.keys(found)
    model = train(found.encoded, keys, "world", "mlp", world.TRAINING)
    trained = by_model(model, model.features(found.encoded))
    auc, error = world.measured(found, trained, 256)
    assert auc > 0.80
    assert world.measured(found, world.by_mean, 256)[0] == 0.5
    global_auc, global_error = world.measured(found, world.by_difficulty(found), 256)
    assert global_auc < 0.75
    assert error < global_error / 2
    assert world.measured(found, trained, 16)[0] < auc
    unpaired = train(found.encoded, keys, "world", "mlp", replace(world.TRAINING, mix=0.0))
    assert auc > world.measured(found, by_model(unpaired, unpaired.features(found.encoded)), 256)[0] - 0.01
    assert unpaired.version != model.version, "the pair term is active"


def test_queries_learn_from_states_and_agree_with_torch_s_attention() -> None:
    rng = np.random.default_rng(0)
    states, real = rng.normal(size=(60, 5, 16)), np.arange(5) < rng.integers(2, 6, (60, 1))
    outcomes = (states[:, 0, 0] > 0).astype(float)
    encoded = Encoded(states.mean(1), states, real)
    losses: list[float] = []
    training = Training(epochs=4, lr=1e-2, dropout=0.0, context=30)
    model = train(encoded, [Key("a", "x", np.arange(60), outcomes)], "e", "queries", training,
                  lambda *seen: losses.append(seen[2]))
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])
    assert np.abs(model.weights["up.weight"]).max() > 0, "the offset has left zero"
    attention = nn.MultiheadAttention(adapter.WIDTH, adapter.HEADS, batch_first=True)
    weights = {name: torch.from_numpy(np.asarray(values)) for name, values in model.weights.items()}
    with torch.no_grad():
        for name, part in (("weight", attention.in_proj_weight), ("bias", attention.in_proj_bias)):
            part.copy_(torch.cat([weights[f"{one}.{name}"] for one in ("query", "key", "value")]))
        attention.out_proj.weight.copy_(weights["out.weight"])
        attention.out_proj.bias.copy_(weights["out.bias"])
        seen = torch.from_numpy(states.astype(np.float32))
        vectors, held = torch.from_numpy(encoded.vectors.astype(np.float32)), seen @ weights["kv.weight"].T
        down = nn.functional.layer_norm(vectors @ weights["down.weight"].T + weights["down.bias"], (128,),
                                        weights["down_norm.weight"], weights["down_norm.bias"])
        asked = weights["queries"] + (nn.functional.gelu(down) @ weights["up.weight"].T
                                      + weights["up.bias"]).reshape(60, 168, 6)
        normed = [nn.functional.layer_norm(one, (6,), weights[f"{name}_norm.weight"], weights[f"{name}_norm.bias"])
                  for one, name in ((asked, "query"), (held, "key"))]
        wanted = attention(normed[0], normed[1], held, key_padding_mask=~torch.from_numpy(real))[0].reshape(60, -1)
    assert model.features(encoded) == pytest.approx(wanted.numpy(), abs=1e-4)


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected some to learn from"):
        train(Encoded(np.eye(4)), [Key("a", "x", np.arange(4), np.ones(4))], "e", "mlp", Training())


def test_a_file_of_outcomes_becomes_a_model_and_one_of_one_class_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [{"policy": f"run_{policy // 2}/{policy}", "prompt": f"{'add' if sums else 'spell'} {number}",
             "score": float(sums == (policy % 2 == 0))}
            for policy in range(10) for number in range(15) for sums in (True, False)]
    outcomes, out = tmp_path / "outcomes.jsonl", tmp_path / "v0.safetensors"
    outcomes.write_text("".join(json.dumps(row) + "\n" for row in rows))
    value_fit.main([str(outcomes), "--out", str(out), "--embedder", "hashed", "--epochs", "3"])
    found = load(out)
    assert (found.embedder, found.kind, found.facts["policies"], found.facts["prompts"]) == ("hashed-v1", "mlp", 10, 30)
    assert found.facts["held_out"]["intra_context_auc"] > 0.9
    assert "10 policies, 30 prompts" in capsys.readouterr().out
    outcomes.write_text("".join(json.dumps({**row, "score": 1.0}) + "\n" for row in rows))
    with pytest.raises(SystemExit, match="hone value train: outcomes: found no policy"):
        value_fit.main([str(outcomes), "--out", str(out), "--embedder", "hashed"])


def test_the_sentence_encoder_agrees_with_transformers(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    words = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, **{str(digit): digit + 4 for digit in range(10)}}
    tokenizer = Tokenizer(models.WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))  # type: ignore[assignment]
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    torch.manual_seed(0)
    config = BertConfig(vocab_size=14, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                        intermediate_size=40, max_position_embeddings=300)
    model = BertModel(config).eval()
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["num_hidden_layers"] == 2
    found = SentenceEncoder(tmp_path).encode(["1 2 3", "7", " ".join("0123456789" * 60)])
    assert list(found.tokens if found.tokens is not None else []) == [5, 3, sentence_encoder.MOST_TOKENS]
    ids = torch.tensor([[2, 5, 6, 7, 3]])
    with torch.no_grad():
        states = model(ids).last_hidden_state[0]
    assert found.vectors[0] == pytest.approx(nn.functional.normalize(states.mean(0), dim=0).numpy(), abs=1e-6)
    assert found.states is not None
    assert found.states[0, :5] == pytest.approx(states.numpy(), abs=2e-3), "they are kept in half precision"
