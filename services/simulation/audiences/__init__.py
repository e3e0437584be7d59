"""Simulators of users: fits that simulation services claim and make, and what they say of groups."""
