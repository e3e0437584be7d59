"""The collector leaves loaded objects alone, and still finds cycles that come later."""

import gc
import subprocess
import sys
import weakref

from hone import garbage

PROGRAM = "import gc; from hone import garbage; garbage.spare(); print(gc.get_freeze_count(), len(gc.get_objects()))"


def test_loaded_objects_are_not_looked_at_again() -> None:
    reported = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    frozen, watched = map(int, reported.stdout.split())
    assert frozen > 100 * watched


def test_a_later_cycle_is_still_collected() -> None:
    class Node:
        other: object

    before = gc.get_threshold()
    try:
        garbage.spare()
        assert gc.get_threshold()[0] == garbage.YOUNG
        node = Node()
        node.other = node
        gone = weakref.ref(node)
        del node
        kept = [[place] for place in range(2 * garbage.YOUNG)]
        assert gone() is None
        assert len(kept) == 2 * garbage.YOUNG
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
