"""What `hone doctor` looks at: this machine, and the servers and the stack that a run would use."""
