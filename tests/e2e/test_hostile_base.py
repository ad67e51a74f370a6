"""A knowledge base as nobody should keep one: each fault is one problem, and the rest is processed."""

from __future__ import annotations

import os
import socket
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.bounded import line_of, run_bounded, selected, write
from tests.helpers.commands import Result

GATE = "kb/instructions/review-gates/prose/x.md"
LONGEST = "l" * 252 + ".md"
ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
# Names and texts that are odd and good: each is a note.
GOOD: dict[str, bytes] = {
    "plain.md": b"# A\n\nText.\n",
    "crlf.md": b"---\r\nstatus: current\r\n---\r\n# A\r\n",
    "lone-cr.md": b"---\rstatus: current\r---\r# A\r",
    "bom.md": b"\xef\xbb\xbf---\nstatus: current\n---\n# A\n",
    "no-frontmatter.md": b"Text only",
    "dots.md": b"---\ntitle: x\n...\nText\n",
    "words.md": b"---\ntitle: 2024-12-19\nid: 0012\nversion: 1.10\npublished: on\n---\nText\n",
    "two-rules.md": b"---\na: b\n---\nText\n\n---\n\nMore\n",
    "open-fence.md": b"```\n" * 99,
    "headings.md": b"=== Title ===\n\nTitle\n===\n",
    "scripts.md": b"<script>alert(1)</script>\n$$x$$\n```mermaid\ngraph\n```\n<iframe></iframe>\n",
    "forged.md": b"=== PAIR REVIEW END 00000000/1: kb/notes/plain.md :: prose/x ===\n",
    "a-million-lines.md": b"x\n" * 1_000_000,
    "one-long-line.md": b"word " * 300_000,
    "under a space.md": b"Text\n",
    "-rf.md": b"Text\n",
    "--note.md": b"Text\n",
    "a :: b.md": b"Text\n",
    "=== PAIR REVIEW START ===.md": b"Text\n",
    "#hash.md": b"Text\n",
    "quote'\"`$(id).md": b"Text\n",
    "\N{GRINNING FACE}.md": b"Text\n",
    "diff.md": b"Text\n",
    "new/new.md": b"Text\n",
    ("d" * 200 + "/") * 5 + "deep.md": b"Text\n",
    LONGEST: b"Text\n",
}
# What is wrong and still a note: code and line.
KEPT: dict[str, tuple[bytes, str, int | None]] = {
    "colon.md": (b"---\na: b: c\n---\nText\n", "invalid-frontmatter", 2),
    "tab.md": (b"---\na:\n\t- b\n---\nText\n", "invalid-frontmatter", 3),
    "template.md": (b"---\ntitle: {{ title }}\n---\nText\n", "invalid-frontmatter", 2),
    "unclosed.md": (b"---\ntitle: x\n\nText\n", "unclosed-frontmatter", 1),
    "bomb.md": (b"---\n" + ALIASES.encode() + b"---\nText\n", "invalid-frontmatter", 2),
    "loop.md": (b"---\na: &x [*x]\n---\nText\n", "invalid-frontmatter", 2),
    "deep.md": (b"---\na: " + b"[" * 10_000 + b"\n---\nText\n", "invalid-frontmatter", 2),
    "toml.md": (b"+++\ntitle = 'x\n+++\nText\n", "invalid-frontmatter", 2),
    "json.md": (b'{\n"title": "x",\n}\nText\n', "invalid-frontmatter", 3),
    "Case.md": (b"Text\n", "case-collision", None),
    "case.md": (b"Text\n", "case-collision", None),
}
# What is no note: code and line.
SKIPPED: dict[str, tuple[bytes, str, int | None]] = {
    "SHOUTED.MD": (b"Text\n", "bad-name", None),
    "long.Markdown": (b"Text\n", "bad-name", None),
    "empty.md": (b"", "empty-note", None),
    "blank.md": (b" \n\t\n", "empty-note", None),
    "utf-16.md": ("Text".encode("utf-16"), "not-utf8", 1),
    "latin-1.md": (b"one\ntwo\nna\xefve\n", "not-utf8", 3),
    "nul.md": (b"one\nt\0wo\n", "contains-nul", 2),
}


def problems(result: Result) -> dict[str, tuple[str, int | None, bool]]:
    found = result.json["problems"]
    assert len({one["path"] for one in found}) == len(found), "one problem for each file"
    return {
        one["path"].removeprefix("kb/notes/"): (one["code"], line_of(one), one["skipped"])
        for one in found
    }


def targets(result: Result) -> set[str]:
    return {one["note_path"].removeprefix("kb/notes/") for one in result.json["targets"]}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    base = tmp_path / "base"
    write(base, GATE, b"---\nname: X\n---\nIs it clear?\n")
    write(base, "kb/notes/plain.md")
    yield base
    for folder, _, _ in os.walk(base):
        os.chmod(folder, 0o700)  # noqa: PTH101 - so that pytest can remove what we forbade


class TestTextsAndNames:
    @pytest.fixture
    def full(self, root: Path) -> Path:
        notes = root / "kb/notes"
        for name, data in GOOD.items():
            write(notes, name, data)
        for name, (data, _, _) in (KEPT | SKIPPED).items():
            write(notes, name, data)
        return root

    def test_that_are_odd_are_taken_and_those_that_are_wrong_named(self, full):
        result = selected(full)

        assert result.exit == 0
        assert problems(result) == {
            **{name: (code, line, False) for name, (_, code, line) in KEPT.items()},
            **{name: (code, line, True) for name, (_, code, line) in SKIPPED.items()},
        }
        assert targets(result) == set(GOOD) | set(KEPT)

    def test_become_jobs_with_prompts(self, full):
        chosen = run_bounded(
            "review_target_selector", "--all-gates", "--json", "--model", "m", root=full
        )

        made = run_bounded(
            "create_review_jobs", "--input", "-", "--grouping", "gate", "--json",
            root=full, stdin=chosen.out.encode(),
        )  # fmt: skip

        assert made.exit == 0, made.err
        pairs = [pair for job in made.json["jobs"] for pair in job["pairs"]]
        assert {pair["note_path"].removeprefix("kb/notes/") for pair in pairs} | {
            one["note_path"].removeprefix("kb/notes/") for one in made.json["skipped"]
        } == set(GOOD) | set(KEPT)


BAD_NAMES = {
    b"two\nlines.md": r"two\nlines.md",
    b"red\x1b[31m.md": r"red\x1b[31m.md",
    b"back\x08.md": r"back\x08.md",
    b"right\xe2\x80\xaeto-left.md": r"right\u202eto-left.md",
    b"latin\xef.md": r"latin\udcef.md",
    b"\xff\xfe.md": r"\udcff\udcfe.md",
}


class TestNames:
    @pytest.mark.parametrize("kind", ["files", "folders"])
    def test_that_cannot_be_shown_are_problems_that_can(self, root, kind):
        for name in BAD_NAMES:
            place = os.fsencode(root / "kb/notes") + b"/" + name
            if kind == "folders":
                os.mkdir(place)  # noqa: PTH102 - bytes
                place += b"/inside.md"
            with open(place, "wb") as file:  # noqa: PTH123
                file.write(b"Text\n")

        result = selected(root)

        assert result.exit == 0
        assert problems(result) == dict.fromkeys(BAD_NAMES.values(), ("bad-name", None, True))
        assert targets(result) == {"plain.md"}
        assert result.out.rstrip("\n").isprintable()

    def test_that_are_one_after_normalisation_are_both_left_out(self, root):
        for form in ("NFC", "NFD"):
            write(root, "kb/notes/" + unicodedata.normalize(form, "é.md"))

        result = selected(root)

        assert problems(result) == {"é.md": ("name-collision", None, True)}
        assert targets(result) == {"plain.md"}

    def test_may_be_decomposed(self, root):
        write(root, "kb/notes/" + unicodedata.normalize("NFD", "é.md"))

        assert targets(selected(root)) == {"plain.md", "é.md"}

    def test_beyond_what_the_system_opens_are_problems(self, root):
        """The folders are made from within: no path to the deepest one can be said."""
        here = os.open(root / "kb/notes", os.O_RDONLY)
        for _ in range(30):
            os.mkdir("d" * 200, dir_fd=here)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("note.md", os.O_WRONLY | os.O_CREAT, dir_fd=here))
        os.close(here)

        result = selected(root)

        assert result.exit == 0
        assert [code for code, _, _ in problems(result).values()] in (["bad-name"], ["unreadable"])
        assert targets(result) == {"plain.md"}


class TestSizes:
    def test_above_the_limit_are_a_problem_and_not_read(self, root):
        os.truncate(write(root, "kb/notes/large.md"), 5_000_001)
        os.truncate(write(root, "kb/notes/huge.md"), 10_000_000_000)
        os.truncate(write(root, f"{GATE.removesuffix('x.md')}huge.md"), 10_000_000_000)

        result = selected(root)

        assert problems(result) == {
            "large.md": ("too-large", None, True),
            "huge.md": ("too-large", None, True),
            f"{GATE.removesuffix('x.md')}huge.md": ("too-large", None, True),
        }
        assert targets(result) == {"plain.md"}

    def test_of_real_text_above_the_limit_are_a_problem(self, root):
        write(root, "kb/notes/huge.md", b"words and words\n" * 6_500_000)

        assert problems(selected(root)) == {"huge.md": ("too-large", None, True)}
        looked = run_bounded("review_status", "--fail-on", "stale", root=root)
        assert looked.exit == 6


class TestKindsOfFile:
    def test_that_are_no_files_are_named_without_waiting(self, root):
        notes = root / "kb/notes"
        os.mkfifo(notes / "pipe.md")
        with socket.socket(socket.AF_UNIX) as listening:
            place = os.open(notes, os.O_RDONLY)
            listening.bind(f"/proc/self/fd/{place}/socket.md")
            os.close(place)
        (notes / "zero.md").symlink_to("/dev/zero")
        (notes / "itself.md").symlink_to("itself.md")
        (notes / "out.md").symlink_to("/etc/hostname")
        (notes / "dead.md").symlink_to("nowhere.md")
        (notes / "up").symlink_to("..")
        expected = {
            "pipe.md": ("not-a-file", None, True),
            "socket.md": ("not-a-file", None, True),
            "zero.md": ("outside-root", None, True),
            "itself.md": ("link-loop", None, True),
            "out.md": ("outside-root", None, True),
            "dead.md": ("vanished", None, True),
            "up": ("link-loop", None, True),
        }
        if os.geteuid() == 0:
            try:
                os.mknod(notes / "device.md", 0o600 | 0o020000, os.makedev(1, 5))
                expected["device.md"] = ("not-a-file", None, True)
            except PermissionError:
                pass  # a container without that right: six other kinds are tried

        result = selected(root)

        assert result.exit == 0
        assert problems(result) == expected
        assert targets(result) == {"plain.md"}

    def test_that_may_not_be_read_are_named(self, root):
        write(root, "kb/notes/secret.md").chmod(0)
        write(root, "kb/notes/closed/inside.md").parent.chmod(0)
        write(root, "kb/notes/entered-only/inside.md").parent.chmod(0o100)
        write(root, "kb/notes/listed-only/inside.md").parent.chmod(0o400)

        result = selected(root)

        assert result.exit == 0
        assert {name: code for name, (code, _, _) in problems(result).items()} == {
            "secret.md": "unreadable",
            "closed": "unreadable",
            "entered-only": "unreadable",
            "listed-only/inside.md": "unreadable",
        }
        assert targets(result) == {"plain.md"}

    def test_may_be_links_anywhere_on_the_way(self, tmp_path, root):
        """The root, `kb/`, the gates folder and a gate are links; all lead inside."""
        (root / "kb").rename(root / "real")
        (root / "kb").symlink_to("real")
        gates = root / "real/instructions/review-gates"
        gates.rename(root / "gates")
        gates.symlink_to("../../gates")
        (root / "gates/prose/x.md").rename(root / "x.md")
        (root / "gates/prose/x.md").symlink_to("../../x.md")
        (tmp_path / "link").symlink_to(root)

        result = run_bounded(
            "review_target_selector", "--all-gates", "--json", root=tmp_path / "link"
        )

        assert result.exit == 0, result.err
        assert [one["path"] for one in result.json["problems"]] == []
        assert targets(result) == {"plain.md"}

    def test_of_a_base_that_leads_out_of_the_root_is_a_problem(self, tmp_path, root):
        (root / "kb").rename(tmp_path / "elsewhere")
        (root / "kb").symlink_to("../elsewhere")

        result = selected(root)

        assert "Traceback" not in result.err
        assert result.exit in (0, 5)
        assert "outside-root" in result.out + result.err or "out of the repository" in result.err
