"""Corrections (S6): weights of the per-token loss, because sampler and trainer score tokens differently."""
