"""Copies of stores, from file to server and back."""

from __future__ import annotations
