"""What Python's garbage collector is spared.

It looks for cycles by walking what is alive: what is young each time that 700 objects more are there than before, and
everything now and then. A service holds some 100,000 objects of loaded libraries for good, and has a thousand more for
as long as a wave of samples takes, nearly all of which go by their reference counts. The walks took a rollout worker a
tenth of its time.
"""

import gc

YOUNG = 20_000
"""Objects more than before after which the young ones are looked through."""


def spare() -> None:
    """Never look again at what is alive now, and at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
