"""The environment contract, Hone's own environments and what they share."""
