"""Allocations (S1): the number of rollouts of each prompt."""
