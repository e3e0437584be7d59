"""Losses (S7): policy losses to be minimised, one value for each trained token."""
