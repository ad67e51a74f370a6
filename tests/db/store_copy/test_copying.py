"""A store copied into another: every row, wherever it goes."""

from __future__ import annotations

import pytest

from review import models, store
from review.store_copy.copy import temporary_alias
from tests.helpers.copied_stores import change, copy, moments, rows
from tests.helpers.filled_store import fill

pytestmark = pytest.mark.django_db


class TestCopy:
    def test_brings_every_row(self, source, target):
        done = copy(source, target, "--json")

        assert done.exit == 0, done.err
        told = {table["table"]: table["rows"] for table in done.json["tables"]}
        assert told == {table: len(content) for table, content in rows(source).items()}
        assert min(told.values()) > 0
        assert done.json["verified"]

    def test_comes_back_as_it_went(self, source, target, tmp_path):
        copy(source, target)
        back = tmp_path / "back.sqlite"

        done = copy(target, back)

        assert done.exit == 0, done.err
        assert rows(target) == rows(source)
        assert rows(back) == rows(source)

    def test_moments_are_written_as_the_program_writes_them(self, source, tmp_path):
        copy(source, tmp_path / "target.sqlite")

        assert moments(source) == moments(tmp_path / "target.sqlite")
        assert {len(moment) for moment in moments(source)} == {19, 26}

    def test_the_next_rows_get_new_keys(self, source, target):
        copy(source, target)

        with temporary_alias("target", str(target), named="the test"):
            store.ensure_store(write=True, using="target")
            fill("target", seed=9, jobs=2)
            made = models.KbPath.objects.using("target").create(path="kb/new.md")
            last_job = models.ReviewJob.objects.using("target").latest("pk").pk
        with temporary_alias("source", str(source), named="the test"):
            known = models.KbPath.objects.using("source").latest("pk").pk
        assert made.pk > known
        assert last_job == 14

    def test_is_the_same_store(self, source, copied):
        assert rows(copied)["review_store"] == rows(source)["review_store"]

    def test_reads_a_source_that_cannot_be_written(self, source, target):
        change(source, "PRAGMA journal_mode = DELETE")
        source.chmod(0o444)

        assert copy(source, target).exit == 0

    def test_makes_a_target_that_is_not_there(self, source, nowhere):
        done = copy(source, nowhere, "--json")

        assert (done.exit, done.json["target_was"]) == (0, "missing")

    def test_a_dry_run_writes_nothing(self, source, nowhere, tmp_path):
        done = copy(source, nowhere, "--dry-run", "--json")

        assert done.exit == 0
        assert (done.json["target_was"], done.json["verified"]) == ("missing", False)
        assert not (tmp_path / "target.sqlite").exists()
        assert copy(source, nowhere, "--dry-run", "--json").json["target_was"] == "missing"
