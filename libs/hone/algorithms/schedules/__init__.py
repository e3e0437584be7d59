"""Schedules (S10): factors of the peak learning rate by step."""
