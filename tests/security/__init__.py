"""Attacks, each by who could make it; SECURITY.md says which threat each of them refutes."""
