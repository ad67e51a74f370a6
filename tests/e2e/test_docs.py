"""`docs/commands.md` against the code: nothing is missing, and nothing is made up."""

from __future__ import annotations

import json
import pkgutil
import re
import shlex
from importlib import import_module
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

import review
from commonplace_site.catalogue import PROGRAM, review_commands, site_commands
from review.documents.base import Document
from review.errors import ExitCode
from review.management.kit.arguments import COMMON_EXIT_CODES
from review.vocabulary import ProblemCode
from tests.builders import make_gate, make_root
from tests.helpers.commands import run
from tests.helpers.reference import PAGE, sections

COMMANDS = review_commands()
SECTIONS = sections()
IN_EVERY_COMMAND = {"-h", "--help", "--json", "-q", "--quiet"}
SAME_STRUCT = {"run-gate-sweep/1": "review-sweep/1"}
OF_ALL = {"error/1", "help/1"}


def command_of(name):
    return import_module(f"review.management.commands.{name}").Command()


def parser_of(name):
    return command_of(name).create_parser(PROGRAM, name)


def subclasses_of(kind):
    for struct in kind.__subclasses__():
        yield struct
        yield from subclasses_of(struct)


def structs_of(schema):
    """The structs of the documents that carry this schema."""
    for module in pkgutil.walk_packages(review.__path__, "review."):
        if module.name.endswith("documents"):
            import_module(module.name)
    structs = dict.fromkeys(subclasses_of(Document))
    return [
        struct for struct in structs if schema in (struct.__struct_config__.tag, set_by(struct))
    ]


def set_by(struct):
    """The schema of a document that more than one command gives, each with its own."""
    return next((it.default for it in msgspec.structs.fields(struct) if it.name == "schema"), None)


def unknown_keys(value, kind):
    """Keys of an example that no document of this type has, at any depth."""
    if get_origin(kind) in (UnionType, Union):
        return min((unknown_keys(value, one) for one in get_args(kind)), key=len)
    if get_origin(kind) is list and isinstance(value, list):
        return [key for item in value for key in unknown_keys(item, get_args(kind)[0])]
    if isinstance(kind, type) and issubclass(kind, Document):
        if not isinstance(value, dict):
            return [] if value is None else [str(value)]
        known = get_type_hints(kind) | {"schema": str}
        inner = [
            key
            for name in value.keys() & known.keys()
            for key in unknown_keys(value[name], known[name])
        ]
        return [*(value.keys() - known.keys()), *inner]
    return []


class TestCommands:
    def test_each_has_a_section_and_each_section_is_a_command(self):
        assert sorted(SECTIONS) == COMMANDS

    def test_those_of_the_site_are_named(self):
        assert [name for name in site_commands() if f"`{PROGRAM} {name}`" not in PAGE] == []

    def test_the_three_spellings_are_right(self):
        assert f"`{PROGRAM} review_status`" in PAGE
        assert f"`{PROGRAM}-review-status`" in PAGE
        assert "`python manage.py review_status`" in PAGE


@pytest.mark.parametrize("name", COMMANDS)
class TestSection:
    def test_lists_every_argument_and_no_other(self, name):
        actions = parser_of(name)._actions
        options = {flag for action in actions for flag in action.option_strings}
        positional = {action.metavar for action in actions if not action.option_strings}

        assert SECTIONS[name].arguments == (options - IN_EVERY_COMMAND) | positional

    def test_names_its_schema_and_no_other(self, name):
        named = set(re.findall(r"[a-z]+(?:-[a-z]+)+/\d+", SECTIONS[name].text))

        assert named == ({command_of(name).schema} - {""})

    def test_explains_its_exit_codes(self, name):
        own = {int(code) for code in command_of(name).exit_codes} - set(map(int, COMMON_EXIT_CODES))

        assert SECTIONS[name].exit_codes == own

    def test_has_examples_that_the_command_line_takes(self, name):
        examples = [shlex.split(line) for line in SECTIONS[name].examples]

        assert any(example[0] == name for example in examples)
        for example in examples:
            parser_of(example[0]).parse_args(example[1:])

    def test_shows_a_document_as_the_code_makes_it(self, name):
        schema = command_of(name).schema
        shown = [document for document in SECTIONS[name].documents if "schema" in document]

        assert bool(shown) == bool(schema)
        for document in shown:
            assert document["schema"] == schema
            assert any(
                self.fits(document, struct)
                for struct in structs_of(SAME_STRUCT.get(schema, schema))
            )

    def fits(self, document, struct):
        names = {"schema", *struct.__struct_encode_fields__}
        return document.keys() == names and not unknown_keys(document, struct)


class TestSelector:
    def test_its_document_which_is_streamed_has_the_same_keys(self, tmp_path, monkeypatch, db):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(make_root(tmp_path)))
        shown = SECTIONS["review_target_selector"].documents[0]

        made = run("review_target_selector", "--all-gates", "--model", "m", "--json").json

        assert list(shown) == list(made)
        assert shown["counts"].keys() == made["counts"].keys()
        assert shown["targets"][0].keys() == made["targets"][0].keys()


class TestCommon:
    def test_every_schema_on_the_page_exists(self):
        schemas = {command_of(name).schema for name in COMMANDS} | OF_ALL

        assert set(re.findall(r"[a-z]+(?:-[a-z]+)*/1\b", PAGE)) <= schemas

    def test_the_table_of_exit_codes_is_whole(self):
        told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}

        assert told == {int(code) for code in ExitCode}

    def test_every_code_of_a_problem_is_explained(self):
        assert [code.value for code in ProblemCode if f"`{code.value}`" not in PAGE] == []

    def test_the_error_line_is_what_commands_print(self, tmp_path, monkeypatch):
        gates = {"prose/source-residue": make_gate("prose/source-residue")}
        monkeypatch.setenv("COMMONPLACE_ROOT", str(make_root(tmp_path, gates=gates)))
        (shown,) = re.findall(r"^  (\{\"schema\": \"error/1\".*\})$", PAGE, re.MULTILINE)

        made = run("resolve_gates", "proze", "--json").error

        assert json.loads(shown) == made
