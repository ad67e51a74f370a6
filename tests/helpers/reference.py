"""Reads `docs/commands.md` as data: sections, arguments, examples, documents, exit codes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.helpers.commands import REPOSITORY

PAGE = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Section:
    """What the page says of one command."""

    name: str
    text: str

    @cached_property
    def arguments(self) -> set[str]:
        """Options as written, and the metavars of positional arguments, from the table."""
        return set(re.findall(r"^\| `(--[a-z-]+|[A-Z_]+)[ `]", self.text, re.MULTILINE))

    @cached_property
    def documents(self) -> list[Any]:
        """The JSON examples."""
        return [json.loads(block) for block in self._blocks("json")]

    @cached_property
    def examples(self) -> list[str]:
        """Command lines, without the program's name; a pipe gives several."""
        lines = [line for block in self._blocks("sh") for line in block.splitlines()]
        parts = [part.strip() for line in lines for part in line.split(" | ")]
        return [part.removeprefix("commonplace ") for part in parts]

    @cached_property
    def exit_codes(self) -> set[int]:
        """The codes that the section explains."""
        found = re.search(r"^Exit codes: (.*?)(?:\n\n|\Z)", self.text, re.MULTILINE | re.DOTALL)
        told = " ".join(found[1].split()) if found else ""
        return {int(code) for code in re.findall(r"(?:^|; )(\d+) ", told)}

    def _blocks(self, language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)\n```$", self.text, re.MULTILINE | re.DOTALL)


def sections() -> dict[str, Section]:
    """The sections of the page, by command."""
    parts = re.split(r"^### `(\w+)`$", PAGE, flags=re.MULTILINE)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {name: Section(name, text.partition("\n## ")[0]) for name, text in pairs}
