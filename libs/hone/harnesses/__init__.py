"""The harness contract, Hone's own harnesses and what they share."""
