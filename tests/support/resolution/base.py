"""The base of a spec."""


BASE = {"name": "sort", "model": {"base": "toy"}, "steps": 3, "task": {"environment": "sort_digits"}}
