"""Routing: which model answers a prompt, by its predicted success and its cost (V0, arXiv 2602.03584, use 2)."""
