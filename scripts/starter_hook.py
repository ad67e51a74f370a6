"""Puts the starter set into a wheel, and into no editable install, which reads it from the checkout."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StarterHook(BuildHookInterface[Any]):
    """Copies what `copies` in pyproject.toml names, from the checkout into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files; `version` is `editable` or `standard`."""
        if version != "editable":
            build_data["force_include"].update(self.config["copies"])
