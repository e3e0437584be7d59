import subprocess
import sys

AGAIN = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
from services.learner.trainer import malloc

def made():
    for _ in range(4):
        b"x" * 40_000_000

if sys.argv[1] == "kept":
    assert malloc.keep_freed_memory()
with ThreadPoolExecutor(1) as threads:
    threads.submit(made).result()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    threads.submit(made).result()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how):
    """Return how many pages a thread is given once more when it makes the same arrays again."""
    ended = subprocess.run([sys.executable, "-c", AGAIN, how], capture_output=True, text=True, check=True, timeout=60)
    return int(ended.stdout)


def test_memory_that_was_given_back_is_there_for_the_next_step():
    assert faults("kept") < 100
    assert faults("left") > 1000
