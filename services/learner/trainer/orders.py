"""What rank 0 tells the others to do: JSON, and bytes behind it. Nothing is unpickled."""

import json
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True)
class Order:
    """One thing that every rank does now; `learner` is the number of the learner that it is about."""

    name: str
    learner: int = 0
    arguments: dict[str, Any] = field(default_factory=dict)  # JSON, or pydantic models
    blobs: list[bytes] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)  # learners that nobody needs any more

    def encode(self) -> bytes:
        """Return a line of JSON that ends with the blobs' lengths, and the blobs."""
        head = [self.name, self.learner, self.arguments, self.gone, [len(blob) for blob in self.blobs]]
        return b"\n".join([json.dumps(head, default=_plain).encode(), b"".join(self.blobs)])

    @classmethod
    def decode(cls, data: bytes) -> "Order":
        """Return what `encode` wrote."""
        line, _, rest = data.partition(b"\n")
        name, learner, arguments, gone, lengths = json.loads(line)
        places = pairwise(accumulate(lengths, initial=0))
        return cls(name, learner, arguments, [rest[start:end] for start, end in places], gone)


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump()
