from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch

from benchmarks.chunked_logprobs import Disagreement, agreed, gaps
from benchmarks.probes import logprobs
from benchmarks.probes.logprobs import FORMS
from hone.models import policy as policies

VOCABULARY = 96


def test_tiles_and_the_whole_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "_LOGITS_AT_ONCE", policies._LOGITS_AT_ONCE)  # a form sets it for its process
    micro = logprobs.asked(2 * logprobs.SEQUENCE, VOCABULARY)
    assert len(micro.targets) == 2 * logprobs.SEQUENCE
    wanted, found = (logprobs.trained(logprobs.made(form, VOCABULARY), micro)
                     for form in (FORMS["hone_whole"], replace(FORMS["hone"], at_once=20 * len(micro.targets))))
    for name, values in wanted.items():
        torch.testing.assert_close(found[name], values, rtol=1e-5, atol=1e-5 * float(values.abs().max()), msg=name)


def test_gaps_are_shares_of_the_largest_value(tmp_path: Path) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    safetensors.torch.save_file({"logp": torch.tensor([-8.0, 1.0]), "w": torch.tensor([0.5])}, left)
    safetensors.torch.save_file({"logp": torch.tensor([-8.0, 1.5]), "w": torch.tensor([0.25])}, right)
    assert gaps(left, right) == {"logp": 0.0625, "w": 0.5}


def test_forms_that_disagree_are_no_result() -> None:
    assert agreed("a", {"logp": 1e-6, "entropy": 2e-6, "w": 5e-5}) == {"value_gap": 2e-6, "gradient_gap": 5e-5}
    for found in ({"logp": 2e-5}, {"logp": float("nan")}, {"logp": 0.0, "w": 2e-4}):
        with pytest.raises(Disagreement, match=" apart, expected at most"):
            agreed("a", found)
