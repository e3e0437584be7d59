"""The driver: leases runs, and decides and performs the next action of each."""
