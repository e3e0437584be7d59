"""Domains in the format of tau2-bench (Barres et al., arXiv 2506.07982): policy, database, tools, tasks and a user."""
