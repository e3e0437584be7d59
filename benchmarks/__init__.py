"""One command for each published figure: `python -m benchmarks.<name>`; raw numbers land in benchmarks/results/."""
