"""TopoCurate, arXiv 2603.01714: the rollouts of a task as one graph, by which trajectories and tasks are chosen.

The exact formulas were not available: every one is a reconstruction that has all stated properties. numpy, float64.
"""
