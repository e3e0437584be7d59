"""V0 (arXiv 2602.03584): the success of any policy on a prompt, predicted from its outcomes on other prompts.

A policy is its context: up to 256 prompts with their outcomes. A head is fitted to the context whenever it predicts,
and no weights change. Nothing here imports torch: heads and losses take numpy arrays, and tensors where the adapter is
trained.
"""
