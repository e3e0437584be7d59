"""Methods as managed runs on a real stack, each against GRPO at equal rollouts: learning curves for the docs."""
