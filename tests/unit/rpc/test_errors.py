"""The message of a failed call, as a tenant sees it."""

from typing import Any

import grpc
import pytest

from hone.api import inference_pb2 as pb
from hone.api.inference_pb2_grpc import InferenceServiceStub
from hone.rpc import errors


def test_a_reason_names_no_address() -> None:
    engine: Any = InferenceServiceStub(grpc.insecure_channel("127.0.0.1:1"))
    with pytest.raises(grpc.RpcError) as failed:
        engine.ListVersions(pb.ListVersionsRequest(), timeout=5)
    said = str(failed.value.details())
    assert "127.0.0.1" in said
    assert "127.0.0.1" not in errors.reason(failed.value)
    assert "refused" in errors.reason(failed.value)


def test_a_status_of_any_input_fits_into_headers() -> None:
    wrong = errors.InvalidField("a" * 9999, "ä" * 100_000, "less " * 9999)
    assert str(wrong).startswith("a" * 200 + "… (9999 characters): found 'ä")
    assert len(errors.status(wrong).SerializeToString()) < 4500
    assert len(errors.status(errors.Refused("no " * 9999)).SerializeToString()) < 1600
