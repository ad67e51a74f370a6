"""Job files are whole or not there, stay inside their job's folder, and belong to one store."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from review.job_files import (
    ArtifactNotWritten,
    ArtifactStore,
    ForeignJobFolder,
    LocalFolder,
    OutputNotReadable,
    job_folder,
    result_name,
)
from tests.builders import make_config, make_root

OURS = "a" * 32
OTHER = "b" * 32


@pytest.fixture
def config(tmp_path):
    return make_config(make_root(tmp_path))


@pytest.fixture
def store(config):
    return ArtifactStore(config)


def files_of(store_id: str, text: str = "prompt") -> dict[str, bytes]:
    manifest = json.dumps({"store_id": store_id}).encode()
    return {"MANIFEST.json": manifest, "prompt.md": text.encode()}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def numbers(monkeypatch) -> None:
    """Number what is moved aside from 1 on, instead of by chance."""
    counter = count(1)
    monkeypatch.setattr("review.job_files.secrets.randbelow", lambda _: next(counter))


def read(store: ArtifactStore, path: str) -> bytes | None:
    return store.read_output(f"kb/reports/bundle-reviews/{path}")


class TestJobFolder:
    def test_is_root_relative_below_the_root(self, config):
        assert job_folder(config, 7) == "kb/reports/bundle-reviews/review-job-7"

    def test_is_absolute_elsewhere(self, tmp_path, config):
        elsewhere = tmp_path.parent / "elsewhere"
        config = make_config(config.root, artifacts=elsewhere)

        assert job_folder(config, 7) == f"{elsewhere}/review-job-7"


class TestResultName:
    def test_carries_the_ordinal_and_both_names(self):
        name = result_name(3, "kb/notes/retrieval.md", "prose/restatement")

        assert name == "pair-3-retrieval.prose.restatement.md"

    def test_is_bounded_and_distinct_for_long_names(self):
        names = {result_name(1, f"kb/notes/{'n' * 240}{end}.md", "prose/x") for end in "ab"}

        assert len(names) == 2
        assert all(len(os.fsencode(name)) <= 110 for name in names)

    @pytest.mark.parametrize(
        "note_path",
        [
            pytest.param("kb/notes/日本語.md", id="not-ascii"),
            pytest.param("kb/notes/a b\\c:d.md", id="separators-of-other-systems"),
            pytest.param("kb/notes/-rf.md", id="leading-dash"),
        ],
    )
    def test_is_a_plain_file_name(self, note_path):
        name = result_name(1, note_path, "prose/x")

        assert name.isascii()
        assert not set(name) & set("/\\: ")

    def test_never_takes_the_name_of_the_prompt(self):
        assert result_name(1, "kb/notes/prompt.md", "prompt") != "prompt.md"


class TestMakeFolder:
    def test_puts_all_files_there(self, store):
        store.make_folder(7, store_id=OURS, files=files_of(OURS))

        assert read(store, "review-job-7/prompt.md") == b"prompt"
        assert json.loads(read(store, "review-job-7/MANIFEST.json")) == {"store_id": OURS}

    @pytest.mark.usefixtures("numbers")
    def test_moves_aside_what_a_rolled_back_id_left(self, store):
        store.make_folder(7, store_id=OURS, files=files_of(OURS, "first"))
        store.make_folder(7, store_id=OURS, files=files_of(OURS, "second"))
        store.make_folder(7, store_id=OURS, files=files_of(OURS, "third"))

        assert read(store, "review-job-7/prompt.md") == b"third"
        assert read(store, "review-job-7.aside-1/prompt.md") == b"first"
        assert read(store, "review-job-7.aside-2/prompt.md") == b"second"

    def test_refuses_the_folder_of_another_store(self, store):
        store.make_folder(7, store_id=OTHER, files=files_of(OTHER))

        with pytest.raises(ForeignJobFolder, match=OTHER) as refused:
            store.make_folder(7, store_id=OURS, files=files_of(OURS, "mine"))

        assert "COMMONPLACE_REVIEW_ARTIFACTS" in refused.value.hint
        assert read(store, "review-job-7/prompt.md") == b"prompt"

    @pytest.mark.parametrize(
        "manifest",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"[1]", id="no-object"),
            pytest.param(b'{"store_id": 7}', id="no-text"),
            pytest.param(b"\xff", id="no-utf8"),
        ],
    )
    @pytest.mark.usefixtures("numbers")
    def test_moves_aside_what_names_no_store(self, store, manifest):
        store.make_folder(7, store_id=OURS, files={"MANIFEST.json": manifest})

        store.make_folder(7, store_id=OURS, files=files_of(OURS))

        assert read(store, "review-job-7/prompt.md") == b"prompt"
        assert read(store, "review-job-7.aside-1/MANIFEST.json") == manifest

    def test_moves_aside_a_file_in_its_place(self, config):
        store = ArtifactStore(config)
        config.artifacts.mkdir(parents=True)
        (config.artifacts / "review-job-7").write_text("not a folder")

        store.make_folder(7, store_id=OURS, files=files_of(OURS))

        assert read(store, "review-job-7/prompt.md") == b"prompt"

    def test_is_not_tripped_by_a_folder_that_a_killed_creator_left_half_made(self, config):
        store = ArtifactStore(config)
        unfinished = config.artifacts / "review-job-7"
        unfinished.mkdir(parents=True)
        (unfinished / "MANIFEST.json").write_bytes(files_of(OURS)["MANIFEST.json"])

        store.make_folder(7, store_id=OURS, files=files_of(OURS))

        assert read(store, "review-job-7/prompt.md") == b"prompt"

    def test_is_for_its_owner_only(self, config):
        ArtifactStore(config).make_folder(7, store_id=OURS, files=files_of(OURS))

        folder = config.artifacts / "review-job-7"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "prompt.md").stat().st_mode) == 0o600

    def test_names_the_reason_when_the_system_refuses(self, config):
        config.artifacts.parent.mkdir(parents=True)
        config.artifacts.write_text("a file where the folder should be")

        with pytest.raises(ArtifactNotWritten, match="review-job-7"):
            ArtifactStore(config).make_folder(7, store_id=OURS, files=files_of(OURS))

    def test_leaves_nothing_behind_when_the_disk_is_full(self, config, monkeypatch):
        written = []

        def full(path: Path, pieces: list[bytes], *, mode: int) -> None:
            path.write_bytes(pieces[0][:1])
            written.append(path)
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("review.job_files.write_new", full)

        with pytest.raises(ArtifactNotWritten, match="No space left"):
            ArtifactStore(config).make_folder(7, store_id=OURS, files=files_of(OURS))

        assert written
        assert names_in(config.artifacts) == []


class TestDiscardFolders:
    def test_removes_only_those_named(self, store):
        for job_id in (7, 8):
            store.make_folder(job_id, store_id=OURS, files=files_of(OURS))

        store.discard_folders([7, 9])

        assert read(store, "review-job-7/prompt.md") is None
        assert read(store, "review-job-8/prompt.md") == b"prompt"


class TestWrite:
    def test_replaces_an_older_file(self, store):
        path = "kb/reports/bundle-reviews/review-job-7/pair-1-a.md"

        store.write_bytes(path, b"first\r\n")
        store.write_bytes(path, b"second")

        assert store.read_output(path) == b"second"

    def test_leaves_the_older_file_whole_when_the_disk_is_full(self, config, monkeypatch):
        store = ArtifactStore(config)
        path = "kb/reports/bundle-reviews/review-job-7/pair-1-a.md"
        store.write_bytes(path, b"first")

        def full(path: Path, pieces: list[bytes], *, mode: int) -> None:
            path.write_bytes(pieces[0][:1])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("review.private_files.write_new", full)

        with pytest.raises(ArtifactNotWritten, match="No space left"):
            store.write_bytes(path, b"second")
        assert store.read_output(path) == b"first"
        assert names_in(config.artifacts / "review-job-7") == ["pair-1-a.md"]

    @pytest.mark.usefixtures("numbers")
    def test_moves_a_folder_in_the_file_s_place_aside(self, config):
        store = ArtifactStore(config)
        folder = config.artifacts / "review-job-7"
        (folder / "pair-1-a.md").mkdir(parents=True)

        store.write_bytes("kb/reports/bundle-reviews/review-job-7/pair-1-a.md", b"text")

        assert (folder / "pair-1-a.md").read_text() == "text"
        assert (folder / "pair-1-a.md.aside-1").is_dir()

    def test_replaces_a_link_and_not_what_it_points_at(self, config):
        store = ArtifactStore(config)
        target = config.root / "precious.md"
        target.write_text("precious")
        folder = config.artifacts / "review-job-7"
        folder.mkdir(parents=True)
        (folder / "pair-1-a.md").symlink_to(target)

        store.write_bytes("kb/reports/bundle-reviews/review-job-7/pair-1-a.md", b"text")

        assert target.read_text() == "precious"
        assert not (folder / "pair-1-a.md").is_symlink()

    def test_follows_a_row_s_path_outside_the_folder_of_today(self, config, tmp_path):
        path = tmp_path / "earlier" / "review-job-7" / "MANIFEST.json"

        ArtifactStore(config).write_bytes(str(path), b"{}")

        assert path.read_text() == "{}"


class TestReadOutput:
    def test_is_none_before_the_worker_wrote(self, store):
        assert read(store, "review-job-7/bundle-output.md") is None

    def test_gives_the_bytes_as_they_are(self, store):
        data = b"\xef\xbb\xbf\xff\r\n\0"
        store.write_bytes("kb/reports/bundle-reviews/review-job-7/bundle-output.md", data)

        assert read(store, "review-job-7/bundle-output.md") == data

    @pytest.mark.parametrize(
        "put",
        [
            pytest.param(lambda path: path.mkdir(), id="folder"),
            pytest.param(lambda path: os.mkfifo(path), id="pipe"),
            pytest.param(lambda path: path.symlink_to("/dev/zero"), id="device"),
            pytest.param(lambda path: path.symlink_to(path), id="link-to-itself"),
        ],
    )
    def test_refuses_what_is_no_ordinary_file(self, config, put):
        folder = config.artifacts / "review-job-7"
        folder.mkdir(parents=True)
        put(folder / "bundle-output.md")

        with pytest.raises(OutputNotReadable, match=r"bundle-output\.md"):
            read(ArtifactStore(config), "review-job-7/bundle-output.md")

    def test_refuses_one_that_is_too_large(self, store, monkeypatch):
        monkeypatch.setattr("review.job_files.MAX_OUTPUT_BYTES", 3)
        path = "kb/reports/bundle-reviews/review-job-7/bundle-output.md"
        store.write_bytes(path, b"123")
        assert store.read_output(path) == b"123"

        store.write_bytes(path, b"1234")

        with pytest.raises(OutputNotReadable, match="larger than 3 bytes"):
            store.read_output(path)


class TestManyAtOnce:
    PATH = "kb/reports/bundle-reviews/review-job-7/bundle-output.md"

    @staticmethod
    def at_once(tasks):
        """Run each task in a thread of its own, all let go at the same moment."""
        ready = threading.Barrier(len(tasks))

        def run(task):
            ready.wait()
            task()

        with ThreadPoolExecutor(len(tasks)) as pool:
            for done in [pool.submit(run, task) for task in tasks]:
                done.result()

    def test_outputs_that_are_kept_move_each_other_aside_and_none_is_lost(self, config):
        store = ArtifactStore(config)
        for number in range(20):
            outputs = [b"%d by %d" % (number, writer) for writer in range(6)]
            self.at_once([partial(store.keep_input, self.PATH, data) for data in outputs])

        folder = config.artifacts / "review-job-7"
        kept = {path.read_bytes() for path in folder.iterdir()}
        assert kept == {b"%d by %d" % (number, w) for number in range(20) for w in range(6)}

    def test_what_is_moved_aside_takes_a_name_of_its_own(self, config):
        folder = LocalFolder(config.artifacts)
        for number in range(30):
            names = [f"{writer}.md" for writer in range(6)]
            for name in names:
                folder.write(name, b"%d" % number)
            self.at_once([partial(folder.move_aside, name) for name in names for _ in range(2)])

        assert len(names_in(config.artifacts)) == 180
        assert all(path.stat().st_size for path in config.artifacts.iterdir())

    def test_folders_likewise(self, config):
        folder = LocalFolder(config.artifacts)
        for number in range(20):
            folder.create_folder("review-job-7", {"a": b"%d" % number}, owner="s")
            self.at_once([partial(folder.move_aside, "review-job-7")] * 4)

        found = {(path / "a").read_text() for path in config.artifacts.iterdir()}
        assert found == {str(number) for number in range(20)}


class TestKeepInput:
    PATH = "kb/reports/bundle-reviews/review-job-7/bundle-output.md"

    def test_becomes_the_job_s_output(self, store):
        store.keep_input(self.PATH, b"review")

        assert store.read_output(self.PATH) == b"review"

    @pytest.mark.usefixtures("numbers")
    def test_moves_another_output_aside(self, store):
        store.write_bytes(self.PATH, b"what the worker wrote itself")

        store.keep_input(self.PATH, b"review")

        assert store.read_output(self.PATH) == b"review"
        assert store.read_output(f"{self.PATH}.aside-1") == b"what the worker wrote itself"

    @pytest.mark.usefixtures("numbers")
    def test_keeps_no_copy_of_the_same_text(self, store):
        store.keep_input(self.PATH, b"review")
        store.keep_input(self.PATH, b"review")

        assert store.read_output(f"{self.PATH}.aside-1") is None
