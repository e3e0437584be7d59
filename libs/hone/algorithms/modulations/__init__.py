"""Modulations (S5): change advantages token by token, over a step or a minibatch. Their factors have no gradient."""
