"""The budgets of the code's shape: files, functions, docstrings, and words that stay in their list."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median, quantiles

import pytest

from review import vocabulary

REPOSITORY = Path(__file__).resolve().parents[2]
PRODUCT = ("review", "commonplace_site")
EVERYTHING = (*PRODUCT, "tests", "benchmarks")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
MAX_MEDIAN_LINES = 10
MAX_P90_LINES = 30
MAX_PROBLEMS_SHOWN = 40
# The fields that hold a word of a closed list, and the lists.
FIELDS = {
    "status": ("JobStatus", "PairStatus"),
    "decision": ("Decision",),
    "decision_source": ("DecisionSource",),
    "grouping": ("Grouping",),
    "kind": ("AcceptanceKind",),
    "severity": ("Severity",),
    "state": ("DispositionState",),
}
WORDS = {
    field: {str(value) for name in names for value in getattr(vocabulary, name).values}
    for field, names in FIELDS.items()
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One parsed file."""

    path: str
    lines: int
    tree: ast.Module


def read_sources(folders: tuple[str, ...]) -> list[Source]:
    """Every Python file of `folders` that a person wrote."""
    files = [file for folder in folders for file in sorted((REPOSITORY / folder).rglob("*.py"))]
    return [read_source(file) for file in files if "migrations" not in file.parts]


def read_source(file: Path) -> Source:
    """Parse one file."""
    text = file.read_text(encoding="utf-8")
    return Source(file.relative_to(REPOSITORY).as_posix(), text.count("\n"), ast.parse(text))


@cache
def product_sources() -> list[Source]:
    """What is shipped."""
    return [source for source in all_sources() if source.path.split("/")[0] in PRODUCT]


@cache
def all_sources() -> list[Source]:
    """Read once, when the first test asks: a worker that has none of these tests parses nothing."""
    return read_sources(EVERYTHING)


def functions_of(source: Source) -> Iterator[tuple[str, int]]:
    """The place and the length of every function, less its decorators and its docstring."""
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            yield f"{source.path}:{node.lineno} {node.name}", length_of(node)


def length_of(node: Function) -> int:
    """The lines of a function that do something, its signature among them."""
    first = node.body[0]
    docstring = 0
    if ast.get_docstring(node) is not None and first.end_lineno is not None:
        docstring = first.end_lineno - first.lineno + 1
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def told(problems: list[str]) -> str:
    """Problems one a line, for the assertion's message."""
    return "\n" + "\n".join(problems[:MAX_PROBLEMS_SHOWN])


class TestSize:
    def test_no_file_is_longer_than_its_budget(self):
        problems = [f"{s.path}: {s.lines}" for s in all_sources() if s.lines > MAX_FILE_LINES]

        assert not problems, told(problems)

    def test_no_function_is_longer_than_its_budget(self):
        problems = [
            f"{place}: {length}"
            for source in all_sources()
            for place, length in functions_of(source)
            if length > MAX_FUNCTION_LINES
        ]

        assert not problems, told(problems)

    def test_most_functions_are_short(self):
        lengths = [length for s in product_sources() for _place, length in functions_of(s)]

        assert median(lengths) <= MAX_MEDIAN_LINES
        assert quantiles(lengths, n=10)[-1] <= MAX_P90_LINES


class TestDocstrings:
    def test_every_file_starts_with_one_sentence_about_what_it_owns(self):
        problems = [
            source.path
            for source in all_sources()
            if source.tree.body and not (ast.get_docstring(source.tree) or "").strip()
        ]

        assert not problems, told(problems)


class TestWords:
    def test_no_status_is_written_as_a_literal(self):
        problems = [
            f"{source.path}:{line} {text}"
            for source in product_sources()
            for line, text in status_literals(source.tree)
        ]

        assert not problems, told(problems)

    @pytest.mark.parametrize(
        "code",
        [
            pytest.param('jobs.filter(status="queued")', id="keyword"),
            pytest.param('job.status == "failed"', id="comparison"),
            pytest.param('job.status in ("queued", "running")', id="membership"),
            pytest.param('job.status = "failed"', id="assignment"),
            pytest.param('{"status": "failed"}', id="dictionary"),
        ],
    )
    def test_the_search_for_literals_finds(self, code: str):
        assert list(status_literals(ast.parse(code)))


def status_literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Where a word of a closed list is given to, or compared with, a field that holds one."""
    for node in ast.walk(tree):
        for name, value in named_values(node):
            if holds_word(value, WORDS.get(name, set())):
                yield value.lineno, ast.unparse(value)


def named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names of fields in `node`, with the values they are given or compared with."""
    if isinstance(node, ast.keyword):
        yield (node.arg or "").split("__")[0], node.value
    elif isinstance(node, ast.Compare):
        yield name_of(node.left), node.comparators[0]
    elif isinstance(node, ast.Assign):
        yield from ((name_of(target), node.value) for target in node.targets)
    elif isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else "" for key in node.keys]
        yield from zip(map(str, keys), node.values, strict=True)


def name_of(node: ast.expr) -> str:
    """The last name of `node`: `status` of `job.status`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def holds_word(value: ast.expr, words: set[str]) -> bool:
    """Whether `value` is one of `words`, or a tuple, list or set that holds one."""
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return any(holds_word(item, words) for item in value.elts)
    return isinstance(value, ast.Constant) and value.value in words


def comments_of(source: Source) -> Iterator[tuple[int, str]]:
    """The comments of a file with their lines."""
    with (REPOSITORY / source.path).open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


class TestHabits:
    def test_no_module_is_named_for_being_useful(self):
        names = [source.path for source in all_sources() if Path(source.path).stem == "utils"]

        assert not names

    def test_no_work_is_left_as_a_remark(self):
        problems = [
            f"{source.path}:{line} {comment}"
            for source in all_sources()
            for line, comment in comments_of(source)
            if re.match(r"#\W*(TODO|FIXME|XXX|HACK)\b", comment)
        ]

        assert not problems, told(problems)

    def test_a_checker_is_silenced_for_a_named_reason_only(self):
        problems = [
            f"{source.path}:{line} {comment}"
            for source in all_sources()
            for line, comment in comments_of(source)
            if re.search(r"#\s*(noqa|type: ignore)(?![:\[])", comment)
        ]

        assert not problems, told(problems)

    def test_no_arguments_are_passed_through_unseen(self):
        problems = [
            f"{source.path}:{node.lineno} {node.name}"
            for source in product_sources()
            for node in ast.walk(source.tree)
            if isinstance(node, Function) and passes_everything_through(node)
        ]

        assert not problems, told(problems)


def passes_everything_through(node: Function) -> bool:
    """Whether a function that is not a framework's takes `*args, **kwargs`."""
    framework = {"handle", "execute", "save", "__init_subclass__"}
    both = node.args.vararg is not None and node.args.kwarg is not None
    return both and node.name not in framework
