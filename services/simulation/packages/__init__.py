"""Environment packages: kept for episodes, and made from hints."""
