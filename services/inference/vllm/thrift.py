"""Work that vLLM repeats for each engine of a process on a CPU, and that is done once here.

It collects garbage eight times for each engine, a third of a second each with all modules in memory, and searches all
modules for kernels to replace. A process that serves several models makes and ends engines as they come and go.
"""

import gc
from functools import cache
from types import SimpleNamespace

from vllm.platforms import current_platform
from vllm.v1.engine import core
from vllm.v1.worker import gpu_worker

from hone import garbage

_KERNELS = "register_triton_kernel_overrides"


@cache
def once() -> bool:
    """Do it, and return whether garbage collections pass over what existed by now. Later calls do nothing.

    GPUs keep vLLM's way: it freezes all objects when an engine is built, and thaws all when it captures graphs.
    """
    if not current_platform.is_cpu():
        return False
    garbage.spare()
    # Engines are not frozen, since frozen ones would never be collected; nothing that is frozen now is thawed.
    vars(core)["freeze_gc_heap"] = vars(gpu_worker)["freeze_gc_heap"] = _nothing
    vars(gpu_worker)["gc"] = SimpleNamespace(collect=gc.collect, unfreeze=_nothing)
    platform = type(current_platform)
    # A module that is imported later takes the kernels from where they have been replaced.
    setattr(platform, _KERNELS, staticmethod(cache(getattr(current_platform, _KERNELS))))
    return True


def collect_ended() -> None:
    """Collect an engine that has ended."""
    if not once():
        gc.unfreeze()
    gc.collect()


def _nothing() -> None:
    """Leave objects as they are."""
