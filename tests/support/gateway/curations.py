"""Stored samples for a curation."""

import json
from typing import Any

from hone.store.objects import ObjectMissing
from hone.trajectory.records import Call, Step, Trajectory


class Objects:
    """Holds parts by their key."""

    def __init__(self, **stored: bytes) -> None:
        self.stored = stored

    def get(self, key: str) -> bytes:
        if key not in self.stored:
            raise ObjectMissing(key)
        return self.stored[key]


def sample(index: int, letters: str, score: float | None, task_hash: str = "task") -> Trajectory:
    steps = [Step(index=place, call=0, action=json.dumps({"tool": letter, "arguments": {"of": letter}}),
                  said=[{"role": "tool", "content": f"result {letter}"}], observation_hash="", state_hash="",
                  valid=letter != "F") for place, letter in enumerate(letters)]
    call = Call(index=0, prompt_ids=[1], completion_ids=[2], logp_sample=[-1.0], finish_reason="stop", versions=[],
                text=f"answer {index}", train_mask=[True])
    return Trajectory(group_id=1, index=index, request_no=0, task={}, task_hash=task_hash, item={}, calls=[call],
                      steps=steps, status="ok", score=score, grade_id=None)


def row(place: int, one: Trajectory, part: str = "part") -> dict[str, Any]:
    return {"group_id": 1, "index": one.index, "part": part, "row": place, "score": one.score, "source": "",
            "task_hash": one.task_hash, "step": 3}
