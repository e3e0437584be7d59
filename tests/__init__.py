"""Unit (seconds, no servers), integration (real servers), acceptance (real processes, foreign clients, kills)."""
