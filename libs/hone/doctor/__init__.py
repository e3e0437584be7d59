"""Subjects of `hone doctor`: this machine, and the servers and the stack that a run would use."""
