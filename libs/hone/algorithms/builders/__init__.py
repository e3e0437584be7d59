"""S0: what becomes training data? Pure functions on recorded trajectories."""
