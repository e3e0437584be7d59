"""The answers to a repeated request, where the contracts of the two engines differ.

The native engine answers with equal bits, whoever else is served. vLLM draws from the same distribution with the same
seed, but its rounding depends on the batch, so ids may differ; all else is equal.
"""

import os
from collections.abc import Sequence

from hone.api import inference_pb2 as pb
from hone.api import trajectory_pb2 as tpb

ENGINE = os.environ.get("HONE_ENGINE", "native")
LEAST_TEMPERATURE = 0.001 if ENGINE == "native" else 0.01
"""vLLM would draw at 0.01 for any lower temperature."""


def same(one: pb.GenerateResponse, other: pb.GenerateResponse) -> bool:
    """Whether two answers to a request are equal in all that the engine promises."""
    if ENGINE == "native":
        return one == other
    return one.request_id == other.request_id and _forms(one) == _forms(other)


def same_ids(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two draws of a sample are equal in all that the engine promises."""
    return list(one) == list(other) if ENGINE == "native" else len(one) == len(other)


def _forms(answer: pb.GenerateResponse) -> list[tuple[object, ...]]:
    return [(made.index, len(made.ids), len(made.logp_sample), made.finish_reason, _spans(made))
            for made in answer.completions]


def _spans(made: tpb.Completion) -> list[tuple[str, int]]:
    return [(span.version_id, span.tokens) for span in made.versions]
