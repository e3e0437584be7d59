"""The trainer: leases models and executes their operations in order."""
