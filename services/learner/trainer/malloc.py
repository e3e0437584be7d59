"""Memory of a trainer: what a step gave back is kept for the next one.

glibc maps each large tensor anew, and the system clears every page of it once more on first touch: about a tenth of a
step. The process needs as much again in the next step, and so the pages stay with it.
"""

import ctypes
import sys

_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1  # malloc.h
_LARGEST = 2**31 - 1  # bytes; an int is what mallopt takes


def keep_freed_memory() -> bool:
    """Keep freed memory in one heap; call it before threads start. Return whether the C library can."""
    tune = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tune is None:
        return False
    return all(tune(option, value) == 1 for option, value in (
        (_ARENA_MAX, 1), (_MMAP_THRESHOLD, _LARGEST), (_TRIM_THRESHOLD, _LARGEST)))
