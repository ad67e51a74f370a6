"""Fake reviewer CLIs: each case behaves as the real one was seen to; they import nothing of ours."""
