"""Less work for Python's garbage collector.

The collector looks for cycles among live objects: among the young ones whenever there are 700 more than before, and
among all of them now and then. A service holds some 100,000 objects of loaded libraries for good. It has a thousand
more while it makes a wave of samples, and nearly all of these are freed by their reference counts. Looking for cycles
took a tenth of a rollout worker's time.
"""

import gc

YOUNG = 20_000
"""The collector looks for cycles among the young objects whenever there are this many more than before."""


def look_rarely() -> None:
    """Look at young objects less often, also while a process loads its modules, whose objects all stay."""
    gc.set_threshold(YOUNG)


def spare() -> None:
    """Leave out every object that is alive now, and look at the others less often."""
    gc.collect()
    gc.freeze()
    look_rarely()
