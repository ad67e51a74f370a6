"""Ways out of the knowledge base and of the job files: names, links, pipes, and places named for output."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from review.job_files import MAX_OUTPUT_BYTES, ArtifactStore, OutputNotReadable
from tests.builders import (
    PARTITION,
    make_config,
    make_jobs,
    make_output,
    make_root,
    make_selection,
    make_target,
    write_note,
)
from tests.helpers.commands import run, run_process

SECRET = "the secret of another folder"
ESCAPES_BY_NAME = (
    "../outside.md", "kb/notes/../../../outside.md", "/etc/passwd", "kb/notes/./../../outside.md", "kb/../../o.md",
    "kb/notes/a.md\0.md", "kb/notes/\x1b.md", "", ".", "..", "kb/notes/", "~/outside.md", "kb/notes/.hidden.md",
    "kb/reports/x.md", "C:\\outside.md", "//outside.md", "kb/notes/" + "d/" * 3000 + "x.md",
)  # fmt: skip


@pytest.fixture
def outside(tmp_path_factory) -> Path:
    """A file that is none of our business."""
    path = tmp_path_factory.mktemp("outside") / "outside.md"
    path.write_text(SECRET)
    return path


@pytest.fixture
def job(root, db):
    """A queued job of one pair."""
    return make_jobs(root, ("a.md", "prose/x"))[0]


def ingest(job, *arguments: object):
    """Ingest the job's own output, or what the arguments name."""
    return run("ingest_bundle_output", "--review-job-id", job.review_job_id, *arguments)


class TestNames:
    @pytest.mark.parametrize("name", ESCAPES_BY_NAME, ids=range(len(ESCAPES_BY_NAME)))
    def test_of_a_target_stay_below_the_root(self, root, db, outside, name):
        for key in ("note_path", "gate_path", "gate_id"):
            target = make_target("a.md", "prose/x") | {key: name}
            pack = make_selection(targets=[target])

            result = run(
                "create_review_jobs", "--input", "-", "--grouping", "note", "--json", stdin=pack
            )

            assert result.exit == 5 or not result.json["jobs"], (key, name)
            assert SECRET not in result.out + result.err

    @pytest.mark.parametrize("name", ESCAPES_BY_NAME, ids=range(len(ESCAPES_BY_NAME)))
    def test_of_an_argument_stay_below_the_root(self, root, db, outside, name):
        if "\0" in name:
            return  # no process can be given one
        for call in (
            ("review_target_selector", "--all-gates", "--note", name),
            ("ack_gate_review", "--model", PARTITION, "--", name, "prose/x"),
            ("override_acceptance", "--model", PARTITION, "--reason", "r", "--actor", "human:a", "--", name, "prose/x"),
            ("carry_over_acceptances", "--", name, "kb/notes/z.md"),
            ("fix_prompt", "--", name),
        ):  # fmt: skip
            result = run(*call)

            assert SECRET not in result.out + result.err
            assert "Traceback" not in result.err

    def test_of_folders_in_the_settings_stay_below_the_root(self, tmp_path):
        for line in (
            '[notes]\nroots = ["../outside"]',
            '[notes]\nroots = ["/etc"]',
            '[gates]\nfolder = "../x"',
        ):
            make_root(tmp_path, settings=line + "\n")

            assert run_process("review_target_selector", "--all-gates", root=tmp_path).exit == 5


class TestLinks:
    def test_to_a_foreign_note_lead_nowhere(self, root, db, outside):
        (root / "kb" / "notes" / "link.md").symlink_to(outside)
        (root / "kb" / "notes" / "folder").symlink_to(outside.parent)

        result = run("review_target_selector", "--all-gates", "--model", PARTITION, "--json")
        codes = {problem["path"]: problem["code"] for problem in result.json["problems"]}

        assert {target["note_path"] for target in result.json["targets"]} == {"kb/notes/a.md"}
        assert codes["kb/notes/link.md"] == "outside-root"

    def test_in_the_place_of_an_output_are_not_followed(self, root, job, outside):
        outside.write_bytes(make_output(job.review_job_id) + SECRET.encode())
        (root / job.bundle_output_path).symlink_to(outside)

        result = ingest(job)

        assert result.exit == 5
        assert SECRET not in result.out + result.err

    def test_in_the_place_of_a_result_are_replaced(self, root, job, outside):
        folder = (root / job.bundle_output_path).parent
        (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id))
        result_file = next(iter(_results_of(root, job)))
        result_file.symlink_to(outside)
        (folder / "MANIFEST.json").unlink()
        (folder / "MANIFEST.json").symlink_to(outside)

        assert ingest(job).exit == 0
        assert outside.read_text() == SECRET
        assert not result_file.is_symlink()
        assert json.loads((folder / "MANIFEST.json").read_text())

    def test_in_the_place_of_the_job_s_folder_are_not_written_through(
        self, root, job, outside, tmp_path
    ):
        folder = (root / job.bundle_output_path).parent
        handed = tmp_path / "output.md"
        handed.write_bytes(make_output(job.review_job_id))
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(outside.parent)

        result = ingest(job, "--input-file", handed, "--json")

        assert result.exit == 0, "the review is in the store all the same"
        assert any("leads out" in problem for problem in result.json["jobs"][0]["problems"])
        assert [file.name for file in outside.parent.iterdir()] == ["outside.md"]

    def test_are_not_shown_by_a_page(self, root, web, job, outside):
        (root / job.bundle_output_path).symlink_to(outside)

        assert SECRET.encode() not in web.get(f"/jobs/{job.review_job_id}/bundle-output.md").content
        assert SECRET.encode() not in web.get(f"/jobs/{job.review_job_id}").content


class TestOutputs:
    def test_that_are_pipes_hang_nobody(self, root, job):
        os.mkfifo(root / job.bundle_output_path)

        assert ingest(job).exit == 5

    def test_that_are_devices_are_refused(self, root, job):
        (root / job.bundle_output_path).symlink_to("/dev/zero")

        assert ingest(job).exit == 5

    def test_that_are_folders_are_refused(self, root, job):
        (root / job.bundle_output_path).mkdir()

        assert ingest(job).exit == 5

    def test_that_are_huge_are_refused(self, root, job):
        with (root / job.bundle_output_path).open("wb") as stream:
            stream.truncate(MAX_OUTPUT_BYTES + 1)

        assert ingest(job).exit == 5

    def test_handed_in_that_are_huge_are_refused(self, root, job, tmp_path):
        with (tmp_path / "big").open("wb") as stream:
            stream.truncate(MAX_OUTPUT_BYTES + 1)

        assert ingest(job, "--input-file", tmp_path / "big").exit == 5


class TestPlacesForOutput:
    @pytest.mark.parametrize(
        "place", ["kb/notes/a.md", "kb/review.toml", "kb/instructions/new", "kb/notes"]
    )
    def test_are_not_in_the_knowledge_base(self, root, reviewed, monkeypatch, place):
        monkeypatch.chdir(root)
        before = (root / "kb/notes/a.md").read_bytes()

        for call in (
            ("export_reviews", "--format", "csv", "--output", place),
            ("export_reviews", "--format", "markdown", "--output", place),
            ("fix_prompt", "kb/notes/a.md", "--output", place),
        ):
            assert run(*call).exit == 5, call
        assert (root / "kb/notes/a.md").read_bytes() == before

    def test_by_a_link_are_not_in_the_knowledge_base(self, root, reviewed, tmp_path_factory):
        link = tmp_path_factory.mktemp("elsewhere") / "gates.csv"
        link.symlink_to(root / "kb" / "notes" / "a.md")

        assert run("export_reviews", "--format", "csv", "--output", link).exit == 5

    def test_keep_what_is_no_output_of_ours(self, root, reviewed, outside):
        assert run("export_reviews", "--format", "csv", "--output", outside).exit == 5
        assert outside.read_text() == SECRET

    def test_of_a_start_are_not_left_by_a_link(self, tmp_path, outside):
        (tmp_path / "kb").symlink_to(outside.parent)

        assert run("review_init", "--into", tmp_path).exit == 5
        assert [file.name for file in outside.parent.iterdir()] == ["outside.md"]

    def test_of_an_export_are_below_its_folder_whatever_notes_are_called(
        self, root, db, tmp_path_factory
    ):
        from tests.helpers.reviewed import review_pairs

        folder = tmp_path_factory.mktemp("export") / "inner"
        names = ("..md", "...md", "a__..__b.md", "x/__/y.md", "-->.md", "CON.md")
        for name in names:
            write_note(root, f"kb/notes/{name}")
        review_pairs(
            root, *((f"kb/notes/{name}", "prose/x") for name in names if not name.startswith("."))
        )

        assert run("export_reviews", "--format", "markdown", "--output", folder).exit == 0
        assert [file.name for file in folder.parent.iterdir()] == ["inner"]
        assert all(file.resolve().is_relative_to(folder.resolve()) for file in folder.rglob("*"))


def test_a_path_that_a_row_names_is_no_other_file_of_the_machine(root, job, outside):
    # Rows are written by us alone; a store that somebody else wrote is as far as this goes.
    store = ArtifactStore(make_config(root))

    with pytest.raises(OutputNotReadable, match="leads out"):
        store.read_output(f"kb/reports/bundle-reviews/../../../{outside.name}")


def _results_of(root: Path, job):
    from review.job_files import result_name

    folder = (root / job.bundle_output_path).parent
    for pair in job.pairs:
        yield folder / result_name(pair.ordinal, pair.note_path, pair.gate_id)
