"""Regularizers (S9): terms with a coefficient, added to the per-token loss and aggregated like the loss."""
