"""The hook and the workflows of docs/ci.md: what they call can be called so."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = (REPOSITORY / "docs/ci.md").read_text(encoding="utf-8")
(HOOK,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
# What a shell takes of a line, or runs behind it.
_SHELL = re.compile(r" (?:>>|\||>) .*|[|]$")
CALLS = sorted(
    {_SHELL.sub("", line[1]) for line in re.finditer(r"(commonplace \w+ .*)$", PAGE, re.M)}
)


def parsed(call):
    """The options of a call, as its command reads them."""
    program, name, *words = shlex.split(call)
    command = import_module(f"review.management.commands.{name}").Command()
    return vars(command.create_parser(program, name).parse_args(words))


@pytest.mark.parametrize("call", CALLS)
def test_every_call_of_the_page_is_understood(call):
    assert parsed(call)


def test_every_block_of_yaml_can_be_read():
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)

    assert len(blocks) == 6
    assert all(yaml.safe_load(block) for block in blocks)


def test_the_hook_judges_the_files_that_it_is_given_by_rules_alone():
    options = parsed(f"{HOOK['entry']} {shlex.join(HOOK['args'])} kb/notes/a.md 'kb/notes/b c.md'")

    assert options["notes"] == ["kb/notes/a.md", "kb/notes/b c.md"]
    assert (options["rules_only"], options["fail_on"], HOOK["require_serial"]) == (
        True,
        ["warn"],
        True,
    )
    assert re.search(HOOK["files"], "kb/notes/deep/a.md")
    assert not re.search(HOOK["files"], "kb/instructions/review-gates/prose/x.md")
