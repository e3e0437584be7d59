"""Compares mathematical answers: text to one form of TeX, its structure, units, and equality by sympy."""
