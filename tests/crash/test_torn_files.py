"""Files of jobs that were torn, garbled or lost: the store wins, and a repair writes the same bytes again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.harness import Command, Zygote
from tests.crash.scenarios import Layer, knowledge_base

_JOBS = "kb/reports/bundle-reviews"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _garble(path: Path) -> None:
    path.write_bytes(bytes(byte ^ 0xFF for byte in path.read_bytes()))


def _blank(path: Path) -> None:
    """What some file systems leave of a file that was not synced when the power went."""
    path.write_bytes(b"\0" * path.stat().st_size)


def _put_a_folder_there(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "kept").write_bytes(b"somebody's")


def _point_elsewhere(path: Path) -> None:
    elsewhere = path.parents[4] / "elsewhere.md"
    elsewhere.write_bytes(b"somebody's")
    path.unlink()
    path.symlink_to(elsewhere)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut": _cut,
    "empty": _empty,
    "garbled": _garble,
    "zeros": _blank,
    "lost": Path.unlink,
    "a-folder-in-its-place": _put_a_folder_there,
    "a-link-in-its-place": _point_elsewhere,
}


@pytest.fixture(scope="module")
def reviewed(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs that are completed, and one that is queued."""
    root = knowledge_base(tmp_path_factory.mktemp("torn") / "root")
    layer = Layer(zygote, root, {})
    layer.review()
    layer.create()
    return root


@pytest.fixture
def root(reviewed: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it."""
    copied = tmp_path / "root"
    shutil.copytree(reviewed, copied)
    yield copied


def mirrored(root: Path) -> dict[Path, bytes]:
    """The files that mirror the store: results and manifests, and the prompt of the open job."""
    folder = root / _JOBS
    found = [*folder.glob("*/pair-*.md"), *folder.glob("*/MANIFEST.json")]
    found.append(folder / "review-job-3" / "prompt.md")
    return {path: path.read_bytes() for path in found}


def mend(zygote: Zygote, root: Path) -> dict[str, Any]:
    """What is wrong, and what is still wrong after a repair."""
    seen: dict[str, Any] = zygote.call(root, "judging.look_after_a_strike", known=[], repair=True)
    return seen


class TestRepair:
    @pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
    def test_writes_the_same_bytes_again(self, damage, zygote, root):
        wanted = mirrored(root)
        before = zygote.call(root, "judging.look")
        for path in wanted:
            damage(path)

        seen = mend(zygote, root)

        found = [line.partition(":")[0] for line in seen["doctor"]]
        assert found == ["repairable prompts", "repairable job-files"]
        assert seen["still"] == []
        assert {path: path.read_bytes() for path in wanted} == wanted
        assert seen["store"] == before["store"]

    def test_a_link_s_target_is_left_alone(self, zygote, root):
        for path in mirrored(root):
            _point_elsewhere(path)

        zygote.call(root, "judging.look", repair=True)

        assert (root / "elsewhere.md").read_bytes() == b"somebody's"

    def test_whole_folders_come_back(self, zygote, root):
        wanted = mirrored(root)
        shutil.rmtree(root / _JOBS)

        seen = mend(zygote, root)

        assert seen["still"] == []
        assert mirrored(root) == wanted


class TestTornOutput:
    """A worker's output, cut at each of its lines: what is whole is taken, the rest may come later."""

    def test_never_completes_what_is_not_there(self, zygote, root, tmp_path):
        output = root / _JOBS / "review-job-3" / "bundle-output.md"
        Layer(zygote, root, {}).output(3)
        whole = output.read_bytes()
        ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
        ingest = Command(("ingest_bundle_output", "--review-job-id", "3", "--json"))
        for end in ends[:: max(1, len(ends) // 3)]:
            copied = tmp_path / f"cut-{end}"
            shutil.copytree(root, copied)
            (copied / output.relative_to(root)).write_bytes(whole[:end])

            early, seen = zygote.run(copied, ingest), zygote.call(copied, "judging.look")
            (copied / output.relative_to(root)).write_bytes(whole)
            late = zygote.run(copied, ingest)

            assert (early.exit, early.refusal) in {(0, ""), (1, ""), (5, "no-blocks")}
            assert [line for line in seen["doctor"] if not line.startswith("repairable ")] == []
            assert late.exit == 0 or early.exit == 0
            shutil.rmtree(copied)
