"""Engines of one process: an ended one leaves nothing in memory, and the next one repeats no work."""

import gc
import weakref
from typing import Any

import pytest
from vllm.triton_utils import dispatcher

from tests.vllm.engines import drain, request, serving, version


def ended() -> "weakref.ref[Any]":
    """Return the model of an engine that has worked and ended."""
    engine = serving(version("v0", 0))
    engine.submit(request("a"))
    drain(engine)
    client: Any = engine._core.llm.engine_core
    model = weakref.ref(client.engine_core.model_executor.driver_worker.model_runner.model)
    del client
    engine.close()
    return model


def test_an_ended_engine_is_collected_and_modules_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ended()
    searches: list[object] = []
    monkeypatch.setattr(dispatcher, "_rebind_kernels", searches.append)
    spared = gc.get_freeze_count()
    second = ended()
    gc.collect()
    assert [first() is None, second() is None] == [True, True]
    assert spared > 100_000
    assert gc.get_freeze_count() > 0.99 * spared
    assert len(gc.get_objects()) < spared, "each collection would go through them"
    assert not searches
