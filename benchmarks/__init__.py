"""Builders and measurements; `python -m benchmarks` prints the ratios of docs/performance.md."""
