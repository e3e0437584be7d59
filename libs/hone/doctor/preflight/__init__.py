"""What a preflight concludes from what it saw of a run: lengths, chances, costs and findings. No I/O."""
