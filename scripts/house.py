"""Hold the size and the ties of the code to budgets; prints every figure, and fails where one is exceeded."""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

BUDGETS = {
    "lines in review/": 39_910,
    "statements": 22_590,
    "lines in the longest module": 400,
    "modules in the largest folder": 18,
    "class names used twice": 0,
    "lines over 100 characters": 276,
    "modules in the longest chain of imports": 16,
    "own imports of a module, on average": 4.98,
}


def modules() -> list[Path]:
    found = (path for root in ("review", "commonplace_site") for path in Path(root).rglob("*.py"))
    return sorted(path for path in found if "migrations" not in path.parts)


def figures() -> dict[str, float]:
    texts = {path: path.read_text() for path in modules()}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = {path: text.splitlines() for path, text in texts.items()}
    folders = Counter(
        path.parent for path in texts if path.name != "__init__.py" and "commands" not in path.parts
    )
    classes: dict[str, list[Path]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(path)
    del classes["Command"]  # Django finds the commands by this name
    twice = {name: places for name, places in classes.items() if len(places) > 1}
    for name, places in sorted(twice.items()):
        print(f"{name} is a class in {', '.join(map(str, places))}", file=sys.stderr)
    ties = own_imports(trees)

    @cache
    def depth(name: str) -> int:
        return 1 + max(map(depth, ties[name]), default=0)

    return {
        "lines in review/": sum(len(lines[path]) for path in lines if path.parts[0] == "review"),
        "statements": sum(is_statement(node) for tree in trees.values() for node in ast.walk(tree)),
        "lines in the longest module": max(map(len, lines.values())),
        "modules in the largest folder": max(folders.values()),
        "class names used twice": len(twice),
        "lines over 100 characters": sum(
            len(line) > 100 for some in lines.values() for line in some
        ),
        "modules in the longest chain of imports": max(map(depth, ties)),
        "own imports of a module, on average": round(sum(map(len, ties.values())) / len(ties), 2),
    }


def own_imports(trees: dict[Path, ast.Module]) -> dict[str, set[str]]:
    """Return the modules of ours that each one imports, anywhere in it and for types too."""
    named = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in trees}
    ties: dict[str, set[str]] = {name: set() for name in named}
    for name, path in named.items():
        for node in ast.walk(trees[path]):
            if isinstance(node, ast.ImportFrom):
                wanted = {f"{node.module}.{alias.name}" for alias in node.names}
                ties[name] |= {full if full in named else str(node.module) for full in wanted}
            elif isinstance(node, ast.Import):
                ties[name].update(alias.name for alias in node.names)
    return {name: wanted & named.keys() for name, wanted in ties.items()}


def is_statement(node: ast.AST) -> bool:
    """Return True for statements other than docstrings."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not is_text


def main() -> int:
    found = figures()
    for name, figure in found.items():
        print(f"{name:40}{figure:>8,}  of {BUDGETS[name]:,}")
    return int(any(found[name] > most for name, most in BUDGETS.items()))


if __name__ == "__main__":
    sys.exit(main())
