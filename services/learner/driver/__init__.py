"""The driver: leases runs and decides what each does next."""
