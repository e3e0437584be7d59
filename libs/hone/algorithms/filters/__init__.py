"""Filters (S2): decide which groups a step trains on, from the raw task rewards."""
