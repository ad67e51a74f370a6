"""Paths and make targets that a note names are looked for, where they are meant without doubt."""

from __future__ import annotations

import pytest

from review.domain.markdown.links import RuleInput
from review.runners.rules.judge import judge


class Repository:
    """A repository with src/app/main.py, scripts/run.sh, docs/guide.md and two make targets."""

    make_targets = frozenset({"test", "demo"})

    def is_gone(self, path, *, note_path):
        there = {"src/app/main.py", "scripts/run.sh", "docs/guide.md"}
        return path.startswith(("src/app/", "scripts/", "docs/")) and path not in there


def texts_of(text, *, path="docs/guide.md", repository=Repository()):  # noqa: B008
    review = judge("missing-paths", RuleInput(path, text, repository=repository))
    return [(found.line, found.text) for found in review.findings]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("Start at `src/app/gone.py`.", "src/app/gone.py", id="span"),
        pytest.param("Start at `src/app/gone.py:12`.", "src/app/gone.py", id="span-with-a-line"),
        pytest.param("Run `./scripts/serve --all`.", "scripts/serve", id="command-in-a-span"),
        pytest.param("Run `python src/app/gone.py`.", "src/app/gone.py", id="argument"),
        pytest.param(
            "| a | b |\n|---|---|\n| `src/app/gone.py` | c |", "src/app/gone.py", id="cell"
        ),
        pytest.param(
            "It was `src/a`. Now `src/app/gone.py` is.", "src/app/gone.py", id="sentences"
        ),
        pytest.param("```sh\n./scripts/serve.sh\n```", "scripts/serve.sh", id="shell-block"),
        pytest.param("```\n$ ./scripts/serve.sh\n```", "scripts/serve.sh", id="prompt"),
    ],
)
def test_a_path_that_is_gone_is_found(text, named):
    ((_line, said),) = texts_of(text)

    assert said == f"the path “{named}” is not in the repository"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Start at `src/app/main.py`.", id="there"),
        pytest.param("Start at src/app/gone.py.", id="not-in-code"),
        pytest.param("Replace `src/app/path/to/it.py`.", id="path-to"),
        pytest.param("Copy it to `docs/plans/EDP-XXX.md`.", id="slot-in-a-name"),
        pytest.param("Call `src/app.Must` there.", id="symbol"),
        pytest.param("In the `a/b.org` repository, edit `src/app/gone.py`.", id="other-repository"),
        pytest.param("See [it](https://h.net/a/b/pull/8) (`docs/gone.md`).", id="not-merged"),
        pytest.param("See [`src/app/gone.py`](https://h.net/src/app/gone.py).", id="address"),
        pytest.param("Make `src/app/my-page.py`.", id="my"),
        pytest.param("Open `docs/*.md` and `docs/{a,b}.md` and `docs/<name>.md`.", id="patterns"),
        pytest.param("The file `src/app/gone.py` was removed.", id="past"),
        pytest.param("This writes `docs/report.html`.", id="made"),
        pytest.param("For example, e.g. `docs/intro.md` is short.", id="example"),
        pytest.param("Use `touch src/app/other.py`.", id="maker"),
        pytest.param("Use `other/lib.js` and `text/x.html`.", id="no-folder-of-the-repository"),
        pytest.param("```sh\ncd elsewhere\n./scripts/serve.sh\n```", id="another-folder"),
        pytest.param("```sh\npython run.py > docs/out.txt -o docs/b2.txt\n```", id="outputs"),
        pytest.param("```sh\n$ run it\n--> src/app/gone.py:1\n```", id="output"),
        pytest.param("```python\nopen('src/app/gone.py')\n```", id="no-shell"),
        pytest.param("> See `src/app/gone.py`.", id="quotation"),
        pytest.param("Run `make test`, `make -C sub other` and `make X=1 more`.", id="make"),
    ],
)
def test_what_is_there_or_in_doubt_is_none(text):
    assert texts_of(text) == []


def test_a_make_target_that_is_gone_is_found():
    assert texts_of("Run `make serve`.") == [(1, "the Makefile has no target “serve”")]


def test_a_path_is_told_once_with_its_line():
    text = "# T\n\nSee `src/app/gone.py`.\n\nAnd `src/app/gone.py` again.\n"

    assert [line for line, _said in texts_of(text)] == [3]


@pytest.mark.parametrize("given", [{"repository": None}, {"path": "CHANGELOG.md"}])
def test_nothing_is_found_without_a_repository_or_in_a_history(given):
    assert texts_of("See `src/app/gone.py`.", **given) == []
