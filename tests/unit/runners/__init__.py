"""Runners, tried with real child processes."""
