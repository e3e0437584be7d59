"""Worlds of others as environments: they live in other processes, and Hone keeps no state of theirs.

Each kind has an environment, and a world that speaks its protocol. `episode` is the same for all.
"""
