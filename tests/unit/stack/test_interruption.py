"""A stop signal while an object is finalized, where Python drops the exception of a signal's handler."""

import subprocess
import sys

LOST = """
import io, os, signal
from hone.stack import interruption

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for jobs in the background

class Answer(io.RawIOBase):
    def close(self):
        if not self.closed:
            os.kill(os.getpid(), signal.SIGINT)
        super().close()

interruption.stop_once()
interruption.rest(0)
answer = Answer()
del answer
print("went on")
try:
    interruption.rest(60)
except KeyboardInterrupt:
    print("stopped")
os.kill(os.getpid(), signal.SIGTERM)
print("and is left alone to stop")
"""


def test_a_signal_that_got_lost_is_found_at_the_next_rest() -> None:
    ended = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=30, check=True)
    assert ended.stdout == "went on\nstopped\nand is left alone to stop\n"
