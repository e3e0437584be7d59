"""What a part says is read by trajectory, without its tokens."""

from dataclasses import replace

import pyarrow as pa
import pytest

from hone.trajectory import parts, texts
from tests.unit.trajectory.samples import call, trajectory


def test_each_trajectory_says_its_item_and_its_last_answer() -> None:
    first, last = (replace(call([1, 2], [3]), text=text) for text in ("one", "two"))
    stored = [replace(trajectory(7, 0, first), item={"prompt": "a?"}),
              replace(trajectory(7, 1, first, last), item={"prompt": "a?", "more": [1]})]
    assert texts.said(parts.encode(stored)) == {
        (7, 0): texts.Said({"prompt": "a?"}, "one"), (7, 1): texts.Said({"prompt": "a?", "more": [1]}, "two")}


def test_what_is_no_part_says_nothing() -> None:
    with pytest.raises(pa.ArrowInvalid):
        texts.said(b"no part")
