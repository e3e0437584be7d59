"""Samplers (S2): which tasks a run asks. All but uniform draw by a manifest of the tasks' rollouts. numpy, float64."""
