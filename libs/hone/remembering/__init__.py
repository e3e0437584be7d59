"""Memory of an assistant about a user whose state keeps changing: lives, memories, probes and scores. AMemGym."""
