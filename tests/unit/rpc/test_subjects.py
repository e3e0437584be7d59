"""The subject of a call is sent within bounds, and nothing else is read from the metadata."""

import json
from typing import Any

import pytest

from hone.rpc import subjects
from hone.rpc.calls import CallChannel
from hone.telemetry import logs


def test_a_sent_subject_is_read() -> None:
    with logs.about(run_id="run_1", group_ids=[7, 8], step=3):
        assert subjects.read(dict(subjects.call_metadata())) == {"run_id": "run_1", "group_ids": [7, 8], "step": 3}


def test_work_without_a_subject_sends_none() -> None:
    assert subjects.call_metadata() == ()
    with logs.about(request_id="req_1"):
        assert subjects.call_metadata() == (), "a request of the gateway's is nobody else's"


def test_a_large_batch_sends_some() -> None:
    with logs.about_all([{"run_id": f"run_{number:022}", "group_id": 10**12 + number} for number in range(5000)]):
        sent = subjects.call_metadata()
    assert len(sent[0][1]) < 4096
    assert subjects.read(dict(sent))["group_ids"] == list(range(10**12, 10**12 + subjects.MOST))


@pytest.mark.parametrize("text", ["", "no JSON", "[1]", json.dumps({"message": "mine", "level": "none"})])
def test_other_metadata_changes_no_line(text: str) -> None:
    assert subjects.read({subjects.HEADER: text}) == {}


class Asked:
    """A method that keeps the metadata of its calls."""

    def __init__(self, calls: list[tuple[Any, dict[str, Any]]]) -> None:
        self._calls = calls

    def __call__(self, request: Any, **given: Any) -> None:
        self._calls.append((request, given))

    future = with_call = __call__


class Untraced:
    """A channel that keeps the metadata of its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def unary_unary(self, method: str, request_serializer: None) -> Asked:
        assert (method, request_serializer) == ("/hone/Method", None)
        return Asked(self.calls)

    unary_stream = unary_unary


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream"])
@pytest.mark.parametrize("way", ["__call__", "future", "with_call"])
def test_a_channel_adds_the_subject_to_the_callers_metadata(kind: str, way: str) -> None:
    kept = Untraced()
    call = getattr(getattr(CallChannel(kept, (("always", "2"),)), kind)("/hone/Method", request_serializer=None), way)
    call("first", timeout=3)
    with logs.about(run_id="run_1"):
        call("second", metadata=(("mine", "1"),))
    assert kept.calls == [
        ("first", {"timeout": 3, "metadata": (("always", "2"),)}),
        ("second", {"metadata": (("mine", "1"), ("always", "2"), (subjects.HEADER, '{"run_id": "run_1"}'))})]
