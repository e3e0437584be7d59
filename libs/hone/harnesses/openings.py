"""A task as an environment opened it, put into the texts of a harness."""

import re
from typing import Any

from hone.environments.contract import Message
from hone.harnesses.seat import Seat
from hone.text.conversation import content_text


def task(seat: Seat) -> str:
    """Return the opening without its system messages."""
    return "\n\n".join(content_text(one) for one in seat.opening if one["role"] != "system")


def asked(seat: Seat, template: str, **fields: Any) -> list[Message]:
    """Return the environment's system messages and a template with the task and these fields in it."""
    given = {"task": task(seat), **fields}
    text = re.sub(r"\{(\w+)\}", lambda name: str(given.get(name[1], name[0])), template)
    return [*(one for one in seat.opening if one["role"] == "system"), {"role": "user", "content": text}]
