"""Unit (seconds, no servers), integration (real servers) and acceptance tests (real processes, foreign clients, kills)."""
