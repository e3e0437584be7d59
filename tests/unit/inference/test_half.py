"""The native engine in bfloat16: its results are near those of float32, and unsupported arithmetic is refused."""

import pytest
import torch

from hone.models import probe
from hone.models.policy import Policy
from hone.spec.settings import EngineSettings, Settings, read
from services.inference.native.kind import NativeKind
from services.inference.scoring import ScoreItem
from services.inference.takeover import Tolerance
from tests.support.inference.half import NEEDED
from tests.unit.inference.engines import checkpoint, engine, request, run, stock


@NEEDED
@pytest.mark.parametrize("family", ["qwen3", "qwen2", "llama"])
def test_log_probs_are_near_those_of_float32_and_not_equal(family: str) -> None:
    served = engine(family, dtype=torch.bfloat16)
    (made,) = run(served, request("a", [5, 9, 3], max_tokens=40))["a"]
    item = ScoreItem((5, 9, 3), tuple(made.ids))
    (exact,) = engine(family).score([item], 1.0)
    (again,) = served.score([item], 1.0)
    gaps = (torch.tensor(made.logp) - torch.tensor(exact.logp)).abs()
    assert 0 < gaps.mean() < 0.05
    torch.testing.assert_close(torch.tensor(made.logp), torch.tensor(again.logp), rtol=0, atol=0.1)


@NEEDED
def test_the_probe_holds_within_the_tolerance_of_two_byte_floats() -> None:
    tolerance = Tolerance.of_arithmetic(Settings(engine=EngineSettings(dtype="bfloat16")))
    made = checkpoint(stock("qwen3"))
    gap = engine(dtype=torch.bfloat16).gap(probe.expected(Policy(made.architecture, made.tensors)))
    assert (tolerance.of, tolerance.holds(gap)) == ("mean", True)
    other = checkpoint(stock("qwen3", seed=1))
    assert not tolerance.holds(
        engine(dtype=torch.bfloat16).gap(probe.expected(Policy(other.architecture, other.tensors))))


def test_an_unsupported_arithmetic_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.inference.native.kind.takes_bfloat16", lambda: False)
    with pytest.raises(ValueError, match="HONE_ENGINE_DTYPE: found bfloat16, expected float32"):
        NativeKind(Settings(engine=EngineSettings(dtype="bfloat16")))
    with pytest.raises(ValueError, match='HONE_ENGINE_DTYPE: found "float16", expected float32 or bfloat16'):
        read({"HONE_ENGINE_DTYPE": "float16"})
    assert read({"HONE_ENGINE": "vllm", "HONE_ENGINE_DTYPE": "float16"}).engine.dtype == "float16"
