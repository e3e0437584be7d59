"""`hone demo`: a language model gets better by reinforcement learning, on this machine, in a few minutes."""
