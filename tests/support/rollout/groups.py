"""Claims of a group."""

from typing import Any

from hone.trajectory.order import Order
from services.rollout.claims import Claim


def claim(**fields: Any) -> Claim:
    """Return a claim; `fields` are its own, or its order's."""
    own = {"id": 1, "attempt": 1, "tenant_id": "ten", "run_id": "run", "begun": 0, "role_versions": {},
           "remaining_s": 1.0, "journaled": {}}
    order = {"purpose": "train", "request_no": 17, "step": 3, "task": {}, "task_hash": "", "n": 1, "seed": 0,
             "sampling": {"max_tokens": 4}, "model_id": "mod", "version_id": None}
    return Claim(order=Order.model_validate({**order, **{key: fields[key] for key in fields.keys() - own.keys()}}),
                 **{**own, **{key: fields[key] for key in fields.keys() & own.keys()}})
