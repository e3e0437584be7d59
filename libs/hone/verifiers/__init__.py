"""Rubrics of other packages behind NeMo Gym's `/verify`, and stored graders as rubrics of those packages.

The packages are imported where one is named, and by the process of a user alone: no service imports this package.
"""
