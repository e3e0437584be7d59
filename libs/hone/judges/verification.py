"""A task with its answer to a verify server, as NeMo Gym's `/verify` takes it, and the server's reward.

NeMo Gym's own servers answer a judge's failure with status 200 and the reward 0, and mark it by `_ng_failure_class`
(nemo_gym/judge.py) or by `mask_sample` (nemo_gym/base_resources_server.py). Such an answer is no reward.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Reply, Submission
from hone.judges.endpoint import SHOWN, Endpoint, Exchange

_FAILED = "_ng_failure_class"


def exchange(endpoint: Endpoint, submission: Submission) -> Exchange:
    """Return a submission as it is sent, and how its answer is read."""
    return Exchange("/verify", submission.body, partial(_reply, sent=submission.body, model=endpoint.model))


def _reply(content: bytes, sent: Mapping[str, Any], model: str) -> Reply:
    """Return the answer without what was sent. Raises JudgeFailed for one that has no reward, or says that it is none.
    """
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or "reward" not in given:
        raise JudgeFailed(ErrorKind.MODEL_SERVER, "the verify server's answer is not a JSON object "
                          f"with a reward: {content[:SHOWN].decode(errors='replace')}")
    if given.get(_FAILED) or given.get("mask_sample"):
        raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the verify server gave no reward: {_why(given)}")
    own = {name: value for name, value in given.items() if name not in sent or value != sent[name]}
    return Reply(json.dumps({"reward": given["reward"], **own}, ensure_ascii=False), model)


def _why(given: Mapping[str, Any]) -> str:
    names = (_FAILED, "_ng_failure_judge_error", "failure_kind", "failure_reason")
    said = [f"{name} {given[name]}" for name in names if given.get(name)]
    return ", ".join(said or ["mask_sample"])[:SHOWN]
