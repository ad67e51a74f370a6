"""`kb/review.toml` as no one should write it: a refusal that names it, at once, and never silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from review import settings
from review.knowledge_base import Corpus
from review.settings.file import ConfigRefused


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kb").mkdir()
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return tmp_path / "kb/review.toml"


class TestWhatIsThere:
    @pytest.mark.parametrize(
        ("made", "says"),
        [
            pytest.param(Path.mkdir, "directory", id="folder"),
            pytest.param(lambda p: p.symlink_to("review.toml"), "cannot be read", id="loop"),
            pytest.param(lambda p: p.symlink_to("nowhere"), "cannot be read", id="dead-link"),
        ],
    )
    def test_is_refused_unless_it_is_a_file(self, settings_file, made, says):
        made(settings_file)

        with pytest.raises(ConfigRefused, match=says) as refused:
            settings.current()
        assert "kb/review.toml" in str(refused.value)

    def test_may_be_a_link(self, settings_file, tmp_path):
        (tmp_path / "elsewhere").write_text("[notes]\nmax_bytes = 7\n")
        settings_file.symlink_to("../elsewhere")

        assert settings.current().max_note_bytes == 7

    def test_is_read_again_when_it_changed_behind_its_times(self, settings_file):
        settings_file.write_text("[notes]\nmax_bytes = 1\n")
        before = settings_file.stat()
        assert settings.current().max_note_bytes == 1
        while settings_file.stat().st_ctime_ns == before.st_ctime_ns:
            settings_file.chmod(0o600)  # until the clock of the file system has moved on

        settings_file.write_text("[notes]\nmax_bytes = 2\n")
        os.utime(settings_file, ns=(before.st_atime_ns, before.st_mtime_ns))

        assert settings.current().max_note_bytes == 2


class TestText:
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"a = " + b"[" * 5_000 + b"]" * 5_000, id="nested-lists"),
            pytest.param(b"a = " + b"{b=" * 5_000 + b"1" + b"}" * 5_000, id="nested-tables"),
            pytest.param(b"[notes]\nmax_bytes = " + b"9" * 5_000, id="endless-number"),
            pytest.param(b"\0" * 100, id="nul"),
            pytest.param(b"\xff\xfe", id="utf-16"),
            pytest.param(b"[" + b".".join([b"a"] * 5_000) + b"]", id="deep-table-name"),
            pytest.param(b'"\\u001b[31m" = 1', id="escape-as-a-key"),
        ],
    )
    def test_that_is_not_understood_is_refused_by_name(self, settings_file, data):
        settings_file.write_bytes(data)

        with pytest.raises(ConfigRefused, match=r"kb/review\.toml") as refused:
            settings.current()
        assert len(str(refused.value)) < 1_000

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            pytest.param("cache = 1", "unknown key 'cache'; known: notes, prompt", id="section"),
            pytest.param("[notes]\nrotos = []", "'notes.rotos'; known: roots, excludes", id="key"),
            pytest.param(
                "[runners.a]\nname = 'b'", "'runners.a.name'; known: like", id="key-of-a-table"
            ),
            pytest.param("notes = 1", "notes: Expected a table, got a whole number", id="table"),
            pytest.param("[notes]\ncache = 1", "notes.cache: Expected true or false", id="truth"),
            pytest.param("[notes]\nroots = 'a'", "notes.roots: Expected a list", id="list"),
            pytest.param("[notes]\nroots = []", "notes.roots: Expected a list of length", id="no-root"),
            pytest.param(
                "[notes]\nroots = ['../..']", "roots[0]: expected a folder below the root", id="root"
            ),
            pytest.param(
                "[notes]\nroots = ['kb/reference', 'Gardn']", "roots: expected a folder below", id="gone"
            ),
            pytest.param("[gates]\nfolder = '/x'", "a folder below the root", id="absolute-folder"),
            pytest.param("[notes]\nexcludes = ['']", "notes.excludes[0]: Expected text", id="blank"),
            pytest.param("[notes]\nmax_bytes = -1", "max_bytes: Expected a whole number >= 1", id="size"),
            pytest.param("[sweeps]\nmax_cost_usd = nan", "an amount above 0", id="no-number"),
            pytest.param("[sweeps]\njobs = true", "sweeps.jobs: Expected a whole number", id="bool"),
            pytest.param("[sweeps]\ntimeout = 5", "sweeps.timeout: expected text", id="no-unit"),
            pytest.param("[jobs]\nabandoned_after = '9y'", "such as 90s, 15m", id="unit"),
            pytest.param("[jobs]\nabandoned_after = '9999d'", "longer than 3650d", id="decades"),
            pytest.param(
                "[partitions.a]\naliases = ['x']\n[partitions.b]\naliases = ['x']",
                "partitions.b.aliases: 'x' is an alias of 'a' too",
                id="shared-alias",
            ),
        ],
    )  # fmt: skip
    def test_that_is_wrong_names_the_key_and_what_was_expected(self, settings_file, text, says):
        settings_file.write_text(text)

        with pytest.raises(ConfigRefused) as refused:
            settings.current()
        assert says in refused.value.message
        assert refused.value.hint

    def test_of_an_exclude_pattern_that_is_none_is_refused_by_name(self, settings_file):
        settings_file.write_text("[notes]\nexcludes = ['[b-a].md']")

        with pytest.raises(ConfigRefused, match=r"notes\.excludes"):
            Corpus(settings.current()).notes()

    def test_may_end_without_a_line_end(self, settings_file):
        settings_file.write_text("[notes]\ncache = false")

        assert settings.current().uses_cache is False
