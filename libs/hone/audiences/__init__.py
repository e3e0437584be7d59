"""How a group of users reacts to what a merchant changes: a reasoner and a fitted model, joined at group level.

PGHS, arXiv 2604.15190. Of the paper the abstract and short summaries are known. The split into decision policies, a
reasoning branch, a fitted branch and their fusion is the paper's; every formula, default and metric here is a
reconstruction.
"""
