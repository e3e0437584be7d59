"""Preflights: what a run of a spec would do, found out with the run's own services before anything trains."""
