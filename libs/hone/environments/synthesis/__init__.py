"""Making environment packages, and proving that their tools work and their tasks can be done (ScaleEnv)."""
