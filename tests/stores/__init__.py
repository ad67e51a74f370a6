"""Stores of every released schema, kept so that each can be upgraded for as long as it is known."""
