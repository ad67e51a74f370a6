"""`kb/review.toml` as no one should write it: a refusal that names it, at once, and never silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from review import conf
from review.settings_values import ConfigRefused


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kb").mkdir()
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return tmp_path / "kb/review.toml"


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 10 << 30)


class TestWhatIsThere:
    @pytest.mark.parametrize(
        ("made", "says"),
        [
            pytest.param(os.mkfifo, "not a regular file", id="pipe"),
            pytest.param(Path.mkdir, "not a regular file|directory", id="folder"),
            pytest.param(lambda p: p.symlink_to("/dev/zero"), "not a regular file", id="device"),
            pytest.param(lambda p: p.symlink_to("review.toml"), "cannot be read", id="loop"),
            pytest.param(lambda p: p.symlink_to("nowhere"), "cannot be read", id="dead-link"),
            pytest.param(huge, "at most 1000000 are read", id="ten-gigabytes-of-holes"),
        ],
    )
    def test_is_refused_unless_it_is_a_file_of_sane_size(self, settings_file, made, says):
        made(settings_file)

        with pytest.raises(ConfigRefused, match=says) as refused:
            conf.current()
        assert "kb/review.toml" in str(refused.value)

    def test_may_be_a_link(self, settings_file, tmp_path):
        (tmp_path / "elsewhere").write_text("[notes]\nmax_bytes = 7\n")
        settings_file.symlink_to("../elsewhere")

        assert conf.current().max_note_bytes == 7

    def test_is_read_again_when_it_changed_behind_its_times(self, settings_file):
        settings_file.write_text("[notes]\nmax_bytes = 1\n")
        before = settings_file.stat()
        assert conf.current().max_note_bytes == 1
        while settings_file.stat().st_ctime_ns == before.st_ctime_ns:
            settings_file.chmod(0o600)  # until the clock of the file system has moved on

        settings_file.write_text("[notes]\nmax_bytes = 2\n")
        os.utime(settings_file, ns=(before.st_atime_ns, before.st_mtime_ns))

        assert conf.current().max_note_bytes == 2


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
            pytest.param(b"[notes]\ncache = 1", id="a-number-for-a-word"),
            pytest.param(b"[notes]\nroots = ['../..']", id="out-of-the-root"),
            pytest.param(b"[notes]\nmax_bytes = -1", id="negative"),
            pytest.param(b"[sweeps]\nmax_cost_usd = nan", id="no-number"),
            pytest.param(b"[jobs]\nabandoned_after = '99999999h'", id="longer-than-time"),
        ],
    )
    def test_that_is_not_understood_is_refused_by_name(self, settings_file, data):
        settings_file.write_bytes(data)

        with pytest.raises(ConfigRefused, match=r"kb/review\.toml") as refused:
            conf.current()
        assert len(str(refused.value)) < 1_000

    def test_may_end_without_a_line_end(self, settings_file):
        settings_file.write_text("[notes]\ncache = false")

        assert conf.current().uses_cache is False
