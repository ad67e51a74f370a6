"""Result files and manifests can be read back by any YAML or JSON reader, whatever names they hold."""

from __future__ import annotations

import json

import pytest
import yaml
from msgspec.structs import asdict

from review.protocol.job_files import (
    Manifest,
    ManifestPair,
    ResultRecord,
    render_manifest,
    render_result,
)

RECORD = ResultRecord(
    review_pair_id=31,
    review_job_id=7,
    note_path="kb/notes/a.md",
    gate_path="kb/gates/prose/x.md",
    gate_id="prose/x",
    model_partition="gpt-5@max",
    decision="pass",
    decision_source="declared",
    note_sha256="0" * 64,
    gate_sha256="1" * 64,
    reviewed_at="2026-01-31T09:30:00.000000Z",
    runner="harness",
    runner_model=None,
    runner_effort=None,
    self_reported_model=None,
)
PAIR = ManifestPair(
    review_pair_id=31,
    ordinal=1,
    note_path="kb/notes/a.md",
    gate_path="kb/gates/prose/x.md",
    gate_id="prose/x",
    note_sha256="0" * 64,
    gate_sha256="1" * 64,
    pair_status="pending",
)


def manifest(*pairs: ManifestPair) -> Manifest:
    return Manifest(
        store_id="f" * 32,
        review_job_id=7,
        status="queued",
        model_partition="gpt-5@max",
        grouping="note",
        lens="prose",
        prompt_path="kb/reports/bundle-reviews/review-job-7/prompt.md",
        prompt_sha256="2" * 64,
        bundle_output_path="kb/reports/bundle-reviews/review-job-7/bundle-output.md",
        created_at="2026-01-31T09:30:00.000000Z",
        replaces=None,
        pairs=pairs,
    )


class TestResultFile:
    def test_says_what_the_record_holds_and_then_the_text(self):
        document = render_result(RECORD, "### Summary\n\nIt holds.\n")

        _nothing, frontmatter, text = document.split("---\n")
        assert yaml.safe_load(frontmatter) == asdict(RECORD)
        assert text == "\n### Summary\n\nIt holds.\n"

    def test_labels_provenance_and_claim(self):
        lines = render_result(RECORD, "x").splitlines()

        assert "dispatch-time provenance" in lines[lines.index('runner: "harness"') - 1]
        assert "never provenance" in lines[lines.index("self_reported_model: null") - 1]

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param("kb/notes/a: b #c.md", id="yaml-marks"),
            pytest.param('kb/notes/"quoted" \\ back.md', id="quotes"),
            pytest.param("kb/notes/日本語 é.md", id="not-ascii"),
            pytest.param("kb/notes/🙂.md", id="beyond-the-basic-plane"),
            pytest.param("a\x1b[2J\x85\u2028\x7f\nb: c", id="controls"),
            pytest.param("---", id="frontmatter-fence"),
        ],
    )
    def test_survives_any_name(self, name):
        record = ResultRecord(**asdict(RECORD) | {"self_reported_model": name})

        document = render_result(record, "x")

        frontmatter = document.removeprefix("---\n").partition("\n---\n")[0]
        assert yaml.safe_load(frontmatter)["self_reported_model"] == name
        assert all(char.isprintable() or char == "\n" for char in document)

    def test_ends_in_a_newline_without_changing_the_text(self):
        assert render_result(RECORD, "text").endswith("\n\ntext\n")
        assert render_result(RECORD, "text\n\n").endswith("\n\ntext\n\n")


class TestManifest:
    def test_is_json_with_every_field(self):
        document = json.loads(render_manifest(manifest(PAIR)))

        assert document.pop("schema") == "review-job-manifest/1"
        assert document == asdict(manifest(PAIR)) | {"pairs": [asdict(PAIR)]}

    def test_may_have_no_pair(self):
        assert json.loads(render_manifest(manifest()))["pairs"] == []

    def test_gives_a_pair_a_line(self):
        text = render_manifest(manifest(PAIR, PAIR))

        assert sum('"ordinal"' in line for line in text.splitlines()) == 2
        assert text.endswith("}\n")
