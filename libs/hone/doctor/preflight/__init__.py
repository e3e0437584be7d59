"""Conclusions of a preflight from its view of a run: lengths, chances, costs and findings. No I/O."""
