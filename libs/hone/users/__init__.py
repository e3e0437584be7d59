"""Simulated users: what they want and know, how they take what an agent says, and what they say to it."""
