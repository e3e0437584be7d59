"""The C library's malloc, set to keep the memory that a step frees for the next step.

By default glibc maps each large tensor anew, and the system clears every page of it again: about a tenth of a step's
time. A training process needs as much memory in the next step, so it keeps the pages.
"""

import ctypes
import sys

_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1  # malloc.h
_LARGEST = 2**31 - 1  # bytes; mallopt takes an int


def keep_freed_memory() -> bool:
    """Keep freed memory in one heap, and return whether the C library can do so. Call it before threads start."""
    tune = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tune is None:
        return False
    return all(tune(option, value) == 1 for option, value in (
        (_ARENA_MAX, 1), (_MMAP_THRESHOLD, _LARGEST), (_TRIM_THRESHOLD, _LARGEST)))
