"""Gates as nobody should write them, and a base that changes under the walk: the rest is processed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.helpers.bounded import line_of, selected, write

GATES = "kb/instructions/review-gates"
GOOD_GATE = b"---\nname: X\n---\nIs it clear?\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    write(base, f"{GATES}/prose/good.md", GOOD_GATE)
    write(base, "kb/notes/plain.md")
    return base


# What each file comes to: code, and the line its message names.
BAD: dict[str, tuple[bytes, str, int | None]] = {
    "prose/empty.md": (b"", "empty-gate", None),
    "prose/blank.md": (b" \n\n", "empty-gate", None),
    "prose/no-text.md": (b"---\nname: x\n---\n", "empty-gate", None),
    "prose/latin.md": (b"a\n\xff\n", "not-utf8", 2),
    "prose/nul.md": (b"a\n\0\n", "contains-nul", 2),
    "prose/unclosed.md": (b"---\na: b\n", "unclosed-frontmatter", 1),
    "prose/loop.md": (b"---\na: &x [*x]\n---\nT\n", "invalid-frontmatter", 2),
    "prose/type.md": (b"---\nrequires_type: {a: b}\n---\nT\n", "invalid-gate", 2),
    "prose/two\nlines.md": (GOOD_GATE, "bad-name", None),
    "in-no-lens.md": (GOOD_GATE, "invalid-gate", None),
}


class TestGates:
    def test_that_cannot_be_used_are_one_problem_each(self, root):
        for name, (data, _, _) in BAD.items():
            write(root, f"{GATES}/{name}", data)

        result = selected(root)

        assert result.exit == 0
        assert len(result.json["problems"]) == len(BAD)
        assert {one["path"]: (one["code"], line_of(one)) for one in result.json["problems"]} == {
            f"{GATES}/{name}".replace("\n", "\\n"): (code, line)
            for name, (_, code, line) in BAD.items()
        }
        assert [one["gate_id"] for one in result.json["targets"]] == ["prose/good"]

    def test_may_be_links_inside_the_root_only(self, tmp_path, root):
        write(root, "docs/linked.md", GOOD_GATE)
        (root / GATES / "prose/linked.md").symlink_to("../../../../docs/linked.md")
        (root / GATES / "prose/out.md").symlink_to(write(tmp_path, "out.md", GOOD_GATE))
        (root / GATES / "prose/itself.md").symlink_to("itself.md")
        (root / GATES / "turned").symlink_to("../../..")

        result = selected(root)

        assert {one["path"].removeprefix(f"{GATES}/"): one["code"] for one in result.json["problems"]} == {
            "prose/out.md": "outside-root",
            "prose/itself.md": "link-loop",
            "turned": "link-loop",
        }  # fmt: skip
        assert {one["gate_id"] for one in result.json["targets"]} == {"prose/good", "prose/linked"}

    def test_that_are_pipes_keep_nobody_waiting(self, root):
        os.mkfifo(root / GATES / "prose/pipe.md")

        result = selected(root)

        assert [one["code"] for one in result.json["problems"]] == ["not-a-file"]

    def test_named_with_dashes_are_taken(self, root):
        write(root, f"{GATES}/--help/-x.md", GOOD_GATE)

        result = selected(root)

        assert {one["gate_id"] for one in result.json["targets"]} == {"prose/good", "--help/-x"}


class TestLinks:
    def test_that_loop_between_folders_end(self, root):
        """Ten folders that each link to all ten: a walk that follows blindly makes ten billion notes."""
        for one in range(10):
            write(root, f"kb/notes/f{one}/n.md")
            for other in range(10):
                (root / f"kb/notes/f{one}/to{other}").symlink_to(f"../f{other}")

        result = selected(root)

        assert result.exit == 0
        assert {one["code"] for one in result.json["problems"]} == {"link-loop"}
        paths = {one["note_path"] for one in result.json["targets"]}
        assert {f"kb/notes/f{one}/n.md" for one in range(10)} < paths
        assert len(paths) < 200


class TestRacingBase:
    def test_of_folders_that_come_and_go_costs_nothing_else(self, root):
        """Another process moves folders away and back, and deletes files, all through the scans."""
        for folder in range(20):
            for note in range(20):
                write(root, f"kb/notes/moving{folder}/{note}.md")
        for note in range(20):
            write(root, f"kb/notes/still/{note}.md")
        stop = threading.Event()

        def move() -> None:
            while not stop.is_set():
                for folder in range(20):
                    place = root / f"kb/notes/moving{folder}"
                    place.rename(root / f"kb/away{folder}")
                    (root / f"kb/away{folder}/1.md").unlink()
                    (root / f"kb/away{folder}").rename(place)
                    write(root, f"kb/notes/moving{folder}/1.md")

        mover = threading.Thread(target=move)
        mover.start()
        try:
            results = [selected(root) for _ in range(3)]
        finally:
            stop.set()
            mover.join()

        for result in results:
            assert result.exit == 0
            assert {one["code"] for one in result.json["problems"]} <= {"vanished", "empty-note"}
            still = {one["note_path"] for one in result.json["targets"]}
            assert {f"kb/notes/still/{note}.md" for note in range(20)} <= still
        assert len(selected(root).json["targets"]) == 421
