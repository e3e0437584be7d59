"""Services with one fault each, run in place of the real ones."""
