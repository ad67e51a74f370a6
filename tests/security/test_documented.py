"""`SECURITY.md` against the tests: each that it names is there, and each of ours is named."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.commands import REPOSITORY

PAGE = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)+)`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]


@cache
def names_in(path: Path) -> frozenset[str]:
    """The names of a file's tests, as pytest writes them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for group in tree.body:
        if isinstance(group, ast.ClassDef):
            names |= {
                f"{group.name}::{node.name}"
                for node in group.body
                if isinstance(node, ast.FunctionDef)
            }
    return frozenset(name for name in names if name.rpartition("::")[2].startswith("test_"))


@pytest.mark.parametrize("name", NAMED)
def test_every_test_it_names_is_there(name):
    file, _, test = name.partition("::")

    assert test in names_in(REPOSITORY / file)


def test_every_threat_and_every_bound_names_a_test():
    heads = ("| threat |", "| input |", "| who |")
    whose = PAGE.index("## Who can write what"), PAGE.index("## Threats")
    people = set(PAGE[slice(*whose)].splitlines())

    lacking = [
        row
        for row in ROWS
        if row not in people and not row.startswith(heads) and "`tests/" not in row
    ]

    assert NAMED
    assert not lacking


def test_every_attack_is_of_a_file_that_it_names():
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}

    assert {name for name in files if name not in PAGE} == set()
