"""Advantages (S4): estimators over the trajectories of a step, one value for each trained token."""
