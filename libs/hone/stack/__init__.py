"""The embedded stack: `hone up` in a function call.

    with Stack("state", counts={"trainer": 2}) as stack:
        stack.wait_ready()
        print(stack.record().gateway_url)
"""

from hone.stack.embedded import Stack, StackNotReady
from hone.stack.lock import StackRunning
from hone.stack.record import Record, StackMissing, load

__all__ = ["Record", "Stack", "StackMissing", "StackNotReady", "StackRunning", "load"]
